import type { FasterGradients } from "@remat/trace";

/**
 * How passes run while a mode is open: settings that the engine reads. By default, passes run as in unmodified
 * TensorFlow.js.
 *
 * @example
 * openDispatchMode({ releasesEarly: true, fasterGradients: "equal" });
 */
export interface DispatchPolicy {
  /** Every backward pass frees each saved tensor and each gradient after its last use. */
  readonly releasesEarly?: boolean;
  /**
   * A forward pass saves only tensors that the backward pass will read: it saves no tensor for a gradient that is not
   * requested, and no tensor of which only the shape is read.
   */
  readonly prunesSaved?: boolean;
  /**
   * The gradients of `Mean` and `Sum` multiply with views of one array of ones. TensorFlow.js fills a new array for
   * each.
   */
  readonly sharesOnes?: boolean;
  /**
   * Saved tensors share the data of the original. On wasm, where the engine's Identity copies, TensorFlow.js saves a
   * copy.
   */
  readonly sharesSaved?: boolean;
  /**
   * Replaces gradients that take needlessly many kernels: `equal` if results are bitwise identical, `reordered` also if
   * sums are added in another order. `none` keeps the gradients of TensorFlow.js, whatever other modes ask for.
   * Default: other modes decide.
   */
  readonly fasterGradients?: FasterGradients | "none" | undefined;
  /** The mode decides about recomputation, so blocks under manual activation checkpointing run unchanged. */
  readonly decidesCheckpointing?: boolean;
  /**
   * If passes release memory early, `minimize` of TensorFlow.js's own optimizers updates each weight during the
   * backward pass, as soon as its gradient is final. With `false`, weights are updated after the backward pass,
   * whatever other modes ask for.
   */
  readonly updatesInBackward?: boolean | undefined;

  /** Weights that were to be updated in the backward pass will be updated after it, for this reason. */
  updateAfterBackward?(reason: string): void;
}
