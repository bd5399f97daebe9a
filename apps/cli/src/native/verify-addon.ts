import { createRequire } from "node:module";
import { join } from "node:path";
import { checkCached, type Environment, type NativePackage } from "@remat/dispatch-hook/backends/node";
import { RematError } from "@remat/trace";
import { type CommandResult, failureText, runCommand } from "./run-command.js";
import { verifyScript } from "./verify-script.js";

/** Result of testing a native backend. */
export interface NativeCheck {
  /** The version of TensorFlow that it calls. */
  readonly tensorflow: string;
  /** True if a CUDA device is used. */
  readonly usesGpu: boolean;
  /** The loss of the small model before and after training. */
  readonly loss: readonly [first: number, last: number];
}

/**
 * Trains a small model in a new process with the package installed in `app`: a manual matrix product, a convolution and
 * its gradient, and ten epochs of a dense model. All symbols are resolved at once, so that one missing from TensorFlow
 * is found now and not in the middle of a run.
 *
 * @throws RematError `NATIVE_VERIFY`; `NATIVE_UNTRUSTED` if other users can have changed the cache, before anything is
 * loaded
 * @example
 * await verifyNative(nativeAppFolder("tfjs-node"), "tfjs-node"); // { tensorflow: "2.21.0", usesGpu: false, loss: [3.2, 0.9] }
 */
export async function verifyNative(
  app: string,
  name: NativePackage,
  env: Environment = process.env,
): Promise<NativeCheck> {
  const path = moduleIn(app, `@tensorflow/${name}`);
  if (path !== undefined) checkCached(path, env);
  const result = await runCommand(process.execPath, ["-e", verifyScript, app, `@tensorflow/${name}`], {
    env: { ...env, LD_BIND_NOW: "1", TF_CPP_MIN_LOG_LEVEL: "3", NODE_OPTIONS: "" },
  });
  const line = result.stdout.split("\n").find((text) => text.startsWith("{"));
  if (result.code !== 0 || line === undefined)
    throw new RematError("NATIVE_VERIFY", `the addon of @tensorflow/${name} in ${app} does not work: ${why(result)}`);
  return JSON.parse(line) as NativeCheck;
}

function moduleIn(app: string, name: string): string | undefined {
  try {
    return createRequire(join(app, "package.json")).resolve(name);
  } catch {
    return undefined;
  }
}

function why(result: CommandResult): string {
  const text = failureText(result);
  if (result.signal === "SIGILL")
    return `${text}. TensorFlow's wheels need a processor with AVX. Name a TensorFlow built for this processor with --tensorflow.`;
  if (text.includes("undefined symbol"))
    return `${text}. This TensorFlow lacks a function that tfjs-node calls. Name one from 2.12 to 2.21 with --tensorflow.`;
  if (/GLIBC(XX)?_/.test(text))
    return `${text}. The system's C or C++ library is too old for this TensorFlow. Use a newer system, or an older TensorFlow with --tensorflow.`;
  return `${text}. Rebuild it with remat setup native --force.`;
}
