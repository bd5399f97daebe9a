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

/** A line for each. @internal */
export const replacedGradients: readonly ReplacedGradient[] = [
  fusedBatchNormGradient,
  meanGradient,
  sumGradient,
  tileGradient,
];

/** Tells whether the gradient of a kernel may run other ones than tfjs's own, where `fasterGradients` is wanted. */
export const hasFasterGradient = (kernel: string): boolean =>
  replacedGradients.some((replaced) => replaced.kernel === kernel && !replaced.isDifferentiable);

const byKernel: ReadonlyMap<string, ReplacedGradient> = new Map(
  replacedGradients.map((replaced) => [replaced.kernel, replaced]),
);

/**
 * Where the gradient function of a tape node is one of tfjs's for which there is a faster one that is wanted, puts that in its place.
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
    // The list of what is saved may have got other tensors since.
    const isOurs = dy != null && (replaced.isDifferentiable || engineInternals().state.gradientDepth === 0);
    return (isOurs ? replaced.gradient(dy, saved, attributes, wanted) : undefined) ?? stock(dys);
  };
}

/** Whether the gradient that is registered is tfjs's: by its text, or where the build has other texts, a minified one, by what it does. */
function isReplaceable(kernel: string): boolean {
  const registered = getGradient(kernel)?.gradFunc;
  if (registered === undefined || !isGradientOfTfjs(kernel)) return false;
  return isKnownGradient(kernel, registered) || actsAsTfjs(kernel, registered);
}
