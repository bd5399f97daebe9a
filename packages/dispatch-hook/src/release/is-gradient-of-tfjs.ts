import { type GradFunc, getGradient } from "@tensorflow/tfjs-core";
import { functionDigest } from "../gradients/function-of-tfjs.js";
import { isKnownGradient, kernelsWithKnownGradients } from "../gradients/gradients-of-tfjs.js";

/** For each kernel, the gradient found at the first lookup. */
const firstSeen = new Map<string, GradFunc>();
let isKnownBuild: boolean | undefined;

/**
 * Returns whether the gradient of a known kernel is that of TensorFlow.js, or of another copy of it, and not one
 * registered by the user. In a build whose functions have other source texts (an old or minified one), the gradient
 * found at the first lookup counts as that of TensorFlow.js. An early lookup is best, so this module does it for all
 * kernels when it is loaded.
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

/**
 * Returns whether the source texts of this build of TensorFlow.js are the known ones. No program replaces most of them.
 */
function knowsBuild(): boolean {
  if (isKnownBuild !== undefined) return isKnownBuild;
  const registered = kernelsWithKnownGradients.filter((kernel) => getGradient(kernel) !== undefined);
  const known = registered.filter((kernel) => isKnownGradient(kernel, getGradient(kernel).gradFunc));
  const isKnown = known.length > kernelsWithKnownGradients.length / 2;
  // tfjs-core alone has no gradients. They come with the main package.
  if (registered.length > kernelsWithKnownGradients.length / 2) isKnownBuild = isKnown;
  return isKnown;
}

for (const kernel of kernelsWithKnownGradients) isGradientOfTfjs(kernel);
