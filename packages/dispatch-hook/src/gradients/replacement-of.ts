import { getKernel } from "@tensorflow/tfjs-core";
import { engineInternals } from "../engine-internals.js";
import type { KernelAttributes, KernelInputs } from "../kernels/index.js";
import { openSession } from "../open-session.js";
import type { KernelReplacement } from "./kernel-replacement.js";

/**
 * Returns the ops that would now run instead of a kernel of the current backend, as one function. Undefined if the
 * kernel itself would run.
 *
 * @example
 * replacementOf("Step", { x }, { alpha: 0 })?.({ x }); // in the backward pass of a mode with faster gradients, on native
 */
export function replacementOf(
  kernel: string,
  inputs: KernelInputs,
  attributes: KernelAttributes | undefined,
): KernelReplacement["run"] | undefined {
  const session = openSession();
  if (session === undefined || session.replacements.size === 0) return undefined;
  const config = getKernel(kernel, engineInternals().backendName ?? "");
  const replacement = config && session.replacements.get(config);
  return replacement?.isWanted(inputs, attributes) === true ? (given) => replacement.run(given) : undefined;
}
