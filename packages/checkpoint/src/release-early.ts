import { type CloseMode, openDispatchMode, registeredVariables } from "@remat/dispatch-hook";
import { checkCallOptions, checkOptionNames, isFlag } from "@remat/trace";
import { warnOnce } from "./budget/warning.js";
import { MemoryMeter } from "./memory-meter.js";
import { earlyRelease } from "./release/early-release.js";
import { rehearsal } from "./update/rehearsal.js";
import { UpdateReleaser } from "./update/update-releaser.js";

/** Options of `releaseEarly`. */
export interface ReleaseEarlyOptions {
  /**
   * True to update each weight during the backward pass, as soon as its gradient is final. The gradient is then freed,
   * so the gradients of all weights are never in memory at the same time. Default: false.
   *
   * It works for `minimize`, and so for `fit`, `fitDataset` and `trainOnBatch`, with the seven optimizers of
   * TensorFlow.js and classes that inherit their `applyGradients`. The same kernels compute each weight, with bitwise
   * identical results. Only the order of the weights differs.
   *
   * Two things are not supported (`UPDATE_IN_BACKWARD`): reading gradients of several weights at once, as clipping by
   * global norm does, and reading a weight in the gradient function of another op. Loops that call `variableGrads` or
   * `computeGradients` still update after the backward pass. An optimizer with its own `applyGradients` also does, and
   * causes one warning. A step that throws in its backward pass may have updated some weights.
   */
  readonly updateInBackward?: boolean;
}

/**
 * Frees tensors early in every forward and backward pass from now on. Gradients and weights are bitwise identical, and
 * nothing is computed twice. Returns a function that ends it.
 *
 * - The forward pass saves only tensors that the backward pass will read.
 * - The backward pass frees each saved tensor and gradient after its last use. Unmodified TensorFlow.js keeps all of
 *   them to the end.
 * - Arrays of ones that gradients are multiplied with are filled only once.
 * - Gradients are computed as by {@link fasterGradients}.
 * - Updates by the optimizers of TensorFlow.js free each temporary after its last use, and `minimize` frees each
 *   gradient. Unmodified Adam keeps fourteen temporaries of every weight to the end.
 *
 * It works with `tf.grads`, `tf.variableGrads`, `optimizer.minimize`, `fit`, `trainOnBatch` and custom loops. A
 * gradient function registered in place of one of TensorFlow.js must not read more tensors than the original.
 *
 * @throws RematError `ARGUMENT` for invalid options
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
    updateAfterBackward: warnUpdateAfter,
    gradients(_, next) {
      // Counts optimizer slots as well. Another pass may run inside a pass.
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

const warnUpdateAfter = (reason: string): void =>
  warnOnce(
    "UPDATE_AFTER_BACKWARD",
    `updateInBackward has no effect in this pass: weights are updated after the backward pass, because ${reason}.`,
  );
