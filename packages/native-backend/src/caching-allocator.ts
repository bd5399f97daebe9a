import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cacheFolder } from "@remat/backends/node";
import { RematError } from "@remat/trace";
import { stagingFolder } from "./replace-folder.js";
import { type Environment, failureText, runCommand } from "./run-command.js";

const source = fileURLToPath(new URL("caching-allocator.cc", import.meta.url));

/**
 * Where `setupNative` puts the caching allocator: a shared library for LD_PRELOAD, of which the name tells the source that it was compiled from.
 * Undefined where that source is not, as in a bundle.
 *
 * @internal
 */
export function allocatorFile(env: Environment = process.env): string | undefined {
  if (!existsSync(source)) return undefined;
  const digest = createHash("sha256").update(readFileSync(source)).digest("hex").slice(0, 12);
  return join(cacheFolder(env), "native", `caching-allocator-${digest}.so`);
}

/**
 * Returns what to put into the environment of a process so that its tensors come from the caching allocator, which gives memory back to the system;
 * TensorFlow's own keeps it. It must be there when the process starts. Nothing, where `setupNative` has not built it.
 *
 * @example
 * fork("train.js", { env: { ...process.env, ...allocatorEnvironment() } });
 */
export function allocatorEnvironment(env: Environment = process.env): Readonly<Record<string, string>> {
  const file = allocatorFile(env);
  if (file === undefined || !existsSync(file)) return {};
  const { LD_PRELOAD: others = "" } = env;
  const isThere = others.split(/[: ]/).includes(file);
  return {
    LD_PRELOAD: isThere ? others : `${file}${others === "" ? "" : `:${others}`}`,
    // Otherwise TensorFlow puts its own, which keeps everything, before the system's.
    TF_ONEDNN_USE_SYSTEM_ALLOCATOR: "1",
  };
}

/**
 * Compiles the caching allocator into the cache, in the place of earlier ones.
 *
 * @throws RematError `NATIVE_COMPILE`
 * @internal
 */
export async function compileAllocator(compiler: string, env: Environment): Promise<void> {
  const file = allocatorFile(env);
  if (file === undefined) return;
  const staging = stagingFolder(file);
  try {
    const made = join(staging, "caching-allocator.so");
    const args = ["-O2", "-std=c++17", "-fPIC", "-shared", source, "-o", made, "-ldl", "-lpthread"];
    const result = await runCommand(compiler, args, { env });
    if (result.code !== 0)
      throw new RematError("NATIVE_COMPILE", `${compiler} could not compile ${source}: ${failureText(result)}`);
    renameSync(made, file);
    const folder = join(file, "..");
    for (const name of readdirSync(folder))
      if (/^caching-allocator-\w+\.so$/.test(name) && join(folder, name) !== file) rmSync(join(folder, name));
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}
