import { getKernel, type KernelConfig, type KernelFunc } from "@tensorflow/tfjs-core";
import { bufferBackend } from "../current-backend.js";
import type { Session } from "../session.js";
import { isFunctionOfTfjs } from "./function-of-tfjs.js";
import type { KernelReplacement, ReplacedKernel } from "./kernel-replacement.js";
import { stepOnNative } from "./step-on-native.js";
import { castOnNative, reshapeOnNative } from "./unchanged-on-native.js";

/** One line for each replaced kernel. @internal */
export const replacedKernels: readonly ReplacedKernel[] = [castOnNative, reshapeOnNative, stepOnNative];

/** Replaces kernels of the current backend in passes that request faster gradients. @internal */
export function replaceKernels(session: Session): void {
  const { engine, replacements } = session;
  const { backendName = "none", backendInstance } = engine;
  const { name } = bufferBackend(backendName, backendInstance);
  for (const replaced of replacedKernels) {
    if (replaced.backend !== name) continue;
    const config = getKernel(replaced.kernel, backendName);
    if (config === undefined || replacements.has(config)) continue;
    const isFake = backendInstance?.standsFor !== undefined;
    if (!isFake && !isFunctionOfTfjs(config.kernelFunc, replaced.digest)) replacements.set(config, undefined);
    else replaceKernel(session, config, replaced);
  }
}

function replaceKernel(session: Session, config: KernelConfig, replaced: ReplacedKernel): void {
  const { engine } = session;
  const replacement: KernelReplacement = {
    isWanted: (inputs, attributes) =>
      session.alive && session.pass?.wanted.fasterGradients !== undefined && replaced.isEqual(inputs, attributes),
    run: (inputs) => replaced.run(engine, inputs),
  };
  session.replacements.set(config, replacement);
  session.patches.patch(
    config,
    "kernelFunc",
    (original): KernelFunc =>
      (parameters) =>
        replacement.isWanted(parameters.inputs as never, parameters.attrs as never)
          ? replacement.run(parameters.inputs)
          : original(parameters),
  );
}
