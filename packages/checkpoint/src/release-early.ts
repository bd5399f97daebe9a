import { type CloseMode, type DispatchMode, openDispatchMode } from "@remat/dispatch-hook";
import { UpdateReleaser } from "./update/update-releaser.js";

/** All that early release does, to whatever gradients are taken; each with what it knows of the updates that it has seen. @internal */
export const earlyRelease = (): DispatchMode => {
  const updates = new UpdateReleaser();
  return {
    releasesEarly: true,
    prunesSaved: true,
    sharesOnes: true,
    sharesSaved: true,
    applyGradients: (call, next) => updates.run(call, next),
  };
};

/**
 * Frees early: from here on every forward pass saves only what the backward pass will read, and every backward pass frees each saved tensor and each gradient
 * after its last use, where stock holds all of them to its end; ones that gradients multiply with are filled but once, and what {@link fasterGradients} does is done.
 * Updates by tfjs's optimizers free each temporary after its last use, and `minimize` each gradient, where Adam holds fourteen temporaries of every
 * weight to its end. Nothing is computed twice, gradients and weights are the same to the bit. It reaches `tf.grads`, `tf.variableGrads`,
 * `optimizer.minimize`, `fit`, `trainOnBatch` and custom loops.
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
  return openDispatchMode({ ...earlyRelease(), fasterGradients: "equal" });
}
