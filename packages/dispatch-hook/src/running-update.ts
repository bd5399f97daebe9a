import type { Optimizer, Variable } from "@tensorflow/tfjs-core";
import type { UpdateTurns } from "./engine-records.js";

/** A call of tfjs's own `minimize`, which computes gradients, applies them and disposes of them. */
export interface Minimization {
  readonly optimizer: Optimizer;
  /** The variables that it was given, if it was. */
  readonly listed: readonly Variable[] | undefined;
  /** Whether the weights were updated in the backward pass. */
  isUpdated: boolean;
}

/** The update of weights that runs now, and tfjs's own methods as patched, by which it is recognized. @internal */
export class RunningUpdate {
  /** How many `minimize` and `applyGradients` are running, one in the other. */
  depth = 0;
  /** The innermost `minimize`, if it is tfjs's own. */
  minimizer: Minimization | undefined;
  /** The update that runs in a backward pass. */
  turns: UpdateTurns | undefined;
  /** Inside `applyGradients`. */
  isApplying = false;
  /** tfjs's own updates, as patched. */
  readonly tfjsUpdates: WeakSet<object> = new WeakSet();
  /** tfjs's own `computeGradients`, as patched. */
  tfjsComputes: unknown;
  readonly watchedOptimizers: Set<object> = new Set();
}
