import { type CloseMode, openDispatchMode, registeredVariables } from "@remat/dispatch-hook";
import { checkCallOptions, checkOptionNames, isFlag } from "@remat/trace";
import { warnOnce } from "./budget/warning.js";
import { MemoryMeter } from "./memory-meter.js";
import { earlyRelease } from "./release/early-release.js";
import { rehearsal } from "./update/rehearsal.js";
import { UpdateReleaser } from "./update/update-releaser.js";

export interface ReleaseEarlyOptions {
  /**
   * Whether each weight is updated in the backward pass, as soon as its gradient is final, which goes then: gradients are never there all at once. For `minimize`, and so
   * `fit`, `fitDataset` and `trainOnBatch`, by any of tfjs's seven optimizers or a class that inherits its `applyGradients`. The same kernels compute each weight, to
   * the same bits; only the order of the weights is another. What it forbids: that anybody reads the gradients of several weights, as clipping by global norm does, or a
   * weight in the gradient function of another op (`UPDATE_IN_BACKWARD`). A loop that takes gradients itself (`variableGrads`, `computeGradients`)
   * has its update after the backward pass as ever, as has an optimizer with an `applyGradients` of its own, which a warning tells once. A step that
   * throws in its backward pass may have updated some weights. Left out: weights are updated after the backward pass.
   */
  readonly updateInBackward?: boolean;
}

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
 * @throws RematError `ARGUMENT` for options that are none
 * @example
 * const stop = releaseEarly({ updateInBackward: true });
 * await model.fit(x, y);
 * stop();
 */
export function releaseEarly(options: ReleaseEarlyOptions = {}): CloseMode {
  checkCallOptions("releaseEarly", options, { updateInBackward: [isFlag, "true or false"] });
  checkOptionNames("releaseEarly", options, ["updateInBackward"]);
  const { updateInBackward } = options;
  if (updateInBackward !== true)
    return openDispatchMode({ ...earlyRelease(new UpdateReleaser(rehearsal)), fasterGradients: "equal" });
  const meter = new MemoryMeter();
  const closeMeter = openDispatchMode(meter);
  let passes = 0;
  const close = openDispatchMode({
    ...earlyRelease(new UpdateReleaser(rehearsal, meter)),
    fasterGradients: "equal",
    updatesInBackward: true,
    updateAfterBackward: tellUpdateAfter,
    gradients(_, next) {
      // Slots, too. Within a pass another may run.
      meter.count(registeredVariables());
      if (passes === 0) meter.reset();
      passes++;
      try {
        return next();
      } finally {
        passes--;
      }
    },
  });
  return () => {
    close();
    closeMeter();
  };
}

const tellUpdateAfter = (reason: string): void =>
  warnOnce("UPDATE_AFTER_BACKWARD", `updateInBackward: weights are updated after the backward pass, since ${reason}.`);
