import type { Optimizer, Variable } from "@tensorflow/tfjs-core";
import type { UpdateTurns } from "./engine-records.js";

/** A call of `minimize` of TensorFlow.js, which computes gradients, applies them and disposes of them. */
export interface Minimization {
  readonly optimizer: Optimizer;
  /** The variables passed to it, if any. */
  readonly listed: readonly Variable[] | undefined;
  /** True if the weights were updated in the backward pass. */
  isUpdated: boolean;
}

/** The running weight update, and the patched methods of TensorFlow.js by which it is recognized. @internal */
export class RunningUpdate {
  /** Number of nested calls of `minimize` and `applyGradients`. */
  depth = 0;
  /** The innermost `minimize`, if it is that of TensorFlow.js. */
  minimizer: Minimization | undefined;
  /** The update that runs in a backward pass. */
  turns: UpdateTurns | undefined;
  /** True inside `applyGradients`. */
  isApplying = false;
  /** The patched update methods of TensorFlow.js. */
  readonly tfjsUpdates: WeakSet<object> = new WeakSet();
  /** The patched `computeGradients` of TensorFlow.js. */
  tfjsComputes: unknown;
  readonly watchedOptimizers: Set<object> = new Set();
}
