import { type GradFunc, getGradient } from "@tensorflow/tfjs-core";
import { functionDigest } from "../gradients/function-of-tfjs.js";
import { isKnownGradient, kernelsWithKnownGradients } from "../gradients/gradients-of-tfjs.js";

/** By kernel, the gradient that was there when it was first looked for. */
const firstSeen = new Map<string, GradFunc>();
let isKnownBuild: boolean | undefined;

/**
 * Whether the gradient of one of the kernels whose gradients are known is tfjs's, or that of another copy of tfjs, and not one that somebody has registered in its place. In a
 * build whose functions have other texts (an old or minified one) that is the one which was there when it was first looked for: the sooner the better, so this
 * module does so for all when it is loaded.
 *
 * @internal
 */
export function isGradientOfTfjs(kernel: string): boolean {
  const registered = getGradient(kernel)?.gradFunc;
  if (registered === undefined) return true;
  if (knowsBuild()) return isKnownGradient(kernel, registered);
  const first = firstSeen.get(kernel);
  if (first !== undefined) return registered === first || functionDigest(registered) === functionDigest(first);
  firstSeen.set(kernel, registered);
  return true;
}

/** Whether the texts of this build of tfjs are those that are known: nobody registers most of them anew. */
function knowsBuild(): boolean {
  if (isKnownBuild !== undefined) return isKnownBuild;
  const registered = kernelsWithKnownGradients.filter((kernel) => getGradient(kernel) !== undefined);
  const known = registered.filter((kernel) => isKnownGradient(kernel, getGradient(kernel).gradFunc));
  const isKnown = known.length > kernelsWithKnownGradients.length / 2;
  // tfjs-core alone has no gradients: they come with tfjs.
  if (registered.length > kernelsWithKnownGradients.length / 2) isKnownBuild = isKnown;
  return isKnown;
}

for (const kernel of kernelsWithKnownGradients) isGradientOfTfjs(kernel);
