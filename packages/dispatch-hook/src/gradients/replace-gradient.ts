import { getGradient } from "@tensorflow/tfjs-core";
import { type EngineTapeNode, engineInternals } from "../engine-internals.js";
import type { KernelAttributes } from "../kernels/index.js";
import { isGradientOfTfjs } from "../release/is-gradient-of-tfjs.js";
import { actsAsTfjs } from "./acts-as-tfjs.js";
import { fusedBatchNormGradient } from "./fused-batch-norm.js";
import { isKnownGradient } from "./gradients-of-tfjs.js";
import { meanGradient, sumGradient } from "./mean-and-sum.js";
import type { ReplacedGradient, WantedGradients } from "./replaced-gradient.js";
import { tileGradient } from "./tile.js";

/** One line for each replaced gradient. @internal */
export const replacedGradients: readonly ReplacedGradient[] = [
  fusedBatchNormGradient,
  meanGradient,
  sumGradient,
  tileGradient,
];

/**
 * Returns whether the gradient of a kernel can run other kernels than that of TensorFlow.js, if `fasterGradients` is
 * set.
 */
export const hasFasterGradient = (kernel: string): boolean =>
  replacedGradients.some((replaced) => replaced.kernel === kernel && !replaced.isDifferentiable);

const byKernel: ReadonlyMap<string, ReplacedGradient> = new Map(
  replacedGradients.map((replaced) => [replaced.kernel, replaced]),
);

/**
 * Replaces the gradient function of a tape node if it is one of TensorFlow.js with a faster version that is requested.
 *
 * @internal
 */
export function replaceGradient(
  node: EngineTapeNode,
  attributes: KernelAttributes | undefined,
  wanted: WantedGradients,
): void {
  const { gradient: stock, saved } = node;
  const replaced = byKernel.get(node.kernelName);
  if (replaced === undefined || stock === undefined || saved === undefined || !replaced.isWanted(wanted)) return;
  if (!isReplaceable(node.kernelName)) return;
  node.gradient = (dys) => {
    const [dy] = dys;
    // Saved tensors may have been replaced since.
    const isOurs = dy != null && (replaced.isDifferentiable || engineInternals().state.gradientDepth === 0);
    return (isOurs ? replaced.gradient(dy, saved, attributes, wanted) : undefined) ?? stock(dys);
  };
}

/**
 * Returns whether the registered gradient is that of TensorFlow.js: by its source text or, for other builds such as a
 * minified one, by its actions.
 */
function isReplaceable(kernel: string): boolean {
  const registered = getGradient(kernel)?.gradFunc;
  if (registered === undefined || !isGradientOfTfjs(kernel)) return false;
  return isKnownGradient(kernel, registered) || actsAsTfjs(kernel, registered);
}
