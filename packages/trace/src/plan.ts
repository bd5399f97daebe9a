import type { PlanOp } from "./plan-op.js";
import type { StepSettings } from "./step-settings.js";
import type { FasterGradients } from "./trace.js";

/** Version of the plan format. It is written to files, and readers reject other versions. */
export const planFormat = "remat-plan/2";

/**
 * Version of the format for plans that offload. It differs from {@link planFormat}, because a reader of that version
 * would ignore the offloading.
 */
export const offloadingPlanFormat = "remat-plan/3";

/** The trace or graph that a plan is for. */
export interface PlanSubject {
  readonly kind: "trace" | "graph";
  /** Name of the model or the graph. */
  readonly name: string;
  readonly framework?: string;
  readonly backend?: string;
  readonly device?: string;
  /** Sizes on `device` are rounded up to a multiple of this many bytes. */
  readonly allocationUnitBytes?: number;
  /** The gradients that the plan's ops compute, if they are not TensorFlow.js's own. */
  readonly fasterGradients?: FasterGradients;
  /** The settings of the training step that the plan is for. */
  readonly step?: StepSettings;
  /** Fingerprint of the ops and their results, in order. A plan fits a trace or graph with the same fingerprint. */
  readonly fingerprint: string;
}

/** The method that found a plan, with all settings needed to find it again. */
export interface PlanOrigin {
  /** The method that searched for the plan. */
  readonly method: string;
  /** The memory budget of the search, in bytes. */
  readonly budgetBytes: number;
  /** The order in which ops first run: that of the subject (`fixed`) or another one (`free`). */
  readonly order: "fixed" | "free";
  /**
   * Bandwidth of the link between device and host memory in each direction, in bytes per second. Present if values may
   * be offloaded.
   */
  readonly linkBytesPerSecond?: number;
  /** The seed of the search. Left out if the method uses none. */
  readonly seed?: number;
  /** The number of iterations of the search. Left out if the method has none. */
  readonly iterations?: number;
}

/** The predicted memory and cost of following a plan. */
export interface PlanPrediction {
  /** Peak memory under the plan, in bytes. */
  readonly peakBytes: number;
  /** Cost of all steps, in milliseconds for a trace and in the unit of the file for a graph. */
  readonly cost: number;
  /** Added cost as a fraction of the cost of running every op once. */
  readonly overhead: number;
  /** A lower bound on the cost of any plan within the budget. */
  readonly lowerBound: number;
  /** The optimality gap: how much cheaper another plan could be at most, as a fraction of `cost`. */
  readonly gap: number;
  /** Peak memory and cost of running every op once, in order, and freeing every value after its last use. */
  readonly plain: { readonly peakBytes: number; readonly cost: number };
  /** Peak memory of the trace as it was recorded, in bytes. */
  readonly recordedPeakBytes?: number;
}

/**
 * A storage that no op creates. It is the `ordinal`-th of the storages that appear between op `before - 1` and op
 * `before`.
 */
export interface PlanSource {
  readonly before: number;
  readonly ordinal: number;
  readonly bytes: number;
}

/** An output of an op, or a source. If several outputs share a storage, the value is the first of them. */
export type PlanValue = { readonly op: number; readonly output: number } | { readonly source: number };

/** One step of a plan: an op to run or recompute, and the values to free, offload and reload after it. */
export interface PlanStep {
  /** Index into `ops`. */
  readonly op: number;
  /** True if the op has run before and is recomputed because its results were freed. */
  readonly isRecomputed: boolean;
  /** Values to free after the step. They are not read until they are recomputed. */
  readonly free: readonly PlanValue[];
  /** Values to offload after the step: the data moves to host memory and its device memory is freed. */
  readonly offload?: readonly PlanValue[];
  /**
   * Values to reload after the frees and offloads, in this order. The data stays in host memory if it may be reloaded
   * again.
   */
  readonly reload?: readonly PlanValue[];
}

/** Returns whether a plan moves data to host memory. */
export const offloads = ({ steps }: Pick<Plan, "steps">): boolean => steps.some(({ offload }) => offload !== undefined);

/**
 * A schedule for a training step or a graph: which ops to run, in which order and how often, and when to free each
 * value. Ops are identified by their occurrence (rule T9: module call, phase, kernel, ordinal, and the shapes of the
 * outputs), so that another run of the same model can follow the plan.
 *
 * The memory in use follows from the steps. An op's outputs and workspace are live while it runs, and a value stays
 * live until it is freed. Recomputation and reloading happen directly after the preceding step, before user code
 * continues. An offloaded value uses device memory until its move is complete. A view exists as long as its storage. If
 * the storage is recomputed, the view is valid again.
 */
export interface Plan {
  readonly subject: PlanSubject;
  readonly origin: PlanOrigin;
  readonly predicted: PlanPrediction;
  readonly ops: readonly PlanOp[];
  /**
   * The ops that begin a forward and backward pass, in order. Left out if nothing in the trace marks them. In this case
   * each uninterrupted series of forward ops begins a pass.
   */
  readonly passes?: readonly number[];
  readonly sources: readonly PlanSource[];
  readonly steps: readonly PlanStep[];
}
