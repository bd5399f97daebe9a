import { type CloseMode, type DispatchMode, openDispatchMode } from "@remat/dispatch-hook";

/** All that early release does, to whatever gradients are taken. @internal */
export const earlyRelease: DispatchMode = {
  releasesEarly: true,
  prunesSaved: true,
  sharesOnes: true,
  sharesSaved: true,
};

/**
 * Frees early: from here on every forward pass saves only what the backward pass will read, and every backward pass frees each saved tensor and each gradient
 * after its last use, where stock holds all of them to its end; ones that gradients multiply with are filled but once, and what {@link fasterGradients} does is done. Nothing is computed twice,
 * gradients are the same to the bit. It reaches `tf.grads`, `tf.variableGrads`, `optimizer.minimize`, `fit`, `trainOnBatch` and custom loops.
 * Returns what ends it.
 *
 * Of a gradient function that is registered in the place of one of tfjs's own it is expected that it reads no more than that.
 *
 * @example
 * const stop = releaseEarly();
 * await model.fit(x, y);
 * stop();
 */
export function releaseEarly(): CloseMode {
  return openDispatchMode({ ...earlyRelease, fasterGradients: "equal" });
}
