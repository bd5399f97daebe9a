import type { PlanOp } from "./plan-op.js";
import type { StepSettings } from "./step-settings.js";
import type { FasterGradients } from "./trace.js";

/** Version of the plan format; files say it, and readers refuse others. */
export const planFormat = "remat-plan/2";

/** That of a plan that offloads: who reads only the one above would follow it without. */
export const offloadingPlanFormat = "remat-plan/3";

/** What a plan is for. */
export interface PlanSubject {
  readonly kind: "trace" | "graph";
  /** Of the model or the graph. */
  readonly name: string;
  readonly framework?: string;
  readonly backend?: string;
  readonly device?: string;
  /** Sizes on `device` are rounded up to a multiple of this many bytes. */
  readonly allocationUnitBytes?: number;
  /** The gradients that the plan's ops compute, if others than TensorFlow.js's own. */
  readonly fasterGradients?: FasterGradients;
  /** How the step is taken that the plan is for. */
  readonly step?: StepSettings;
  /** Of the ops and their results, in order: a plan fits what has the same. */
  readonly fingerprint: string;
}

/** How a plan was made: enough to make it again. */
export interface PlanOrigin {
  readonly method: string;
  readonly budgetBytes: number;
  /** Whether ops run for the first time in the order of the subject. */
  readonly order: "fixed" | "free";
  /** What the link between the device and host memory moves in a second, each way, where values may be offloaded. */
  readonly linkBytesPerSecond?: number;
  readonly seed?: number;
  readonly iterations?: number;
}

/** What following a plan should give. */
export interface PlanPrediction {
  readonly peakBytes: number;
  /** Of all steps: milliseconds for a trace, what the file says for a graph. */
  readonly cost: number;
  /** Cost beyond that of running every op once, as a fraction of it. */
  readonly overhead: number;
  /** No plan within the budget costs less. */
  readonly lowerBound: number;
  /** How much cheaper a plan could be at most, as a fraction of `cost`. */
  readonly gap: number;
  /** Running every op once, in order, freeing everything after its last use. */
  readonly plain: { readonly peakBytes: number; readonly cost: number };
  /** The peak of the trace as it was recorded. */
  readonly recordedPeakBytes?: number;
}

/** A storage that no op makes: the `ordinal`-th that appears between op `before - 1` and op `before`. */
export interface PlanSource {
  readonly before: number;
  readonly ordinal: number;
  readonly bytes: number;
}

/** One of an op's outputs (the first, where several share a storage), or a source. */
export type PlanValue = { readonly op: number; readonly output: number } | { readonly source: number };

export interface PlanStep {
  /** Index into `ops`. */
  readonly op: number;
  /** True where the op has run before, and is recomputed for what was freed. */
  readonly isRecomputed: boolean;
  /** What to free after the step: nothing reads it before it is recomputed. */
  readonly free: readonly PlanValue[];
  /** What to offload after the step: its data moves to host memory, and the device's is freed. */
  readonly offload?: readonly PlanValue[];
  /** What to reload after that, in this order. Host memory keeps what may be reloaded once more. */
  readonly reload?: readonly PlanValue[];
}

/** Tells whether a plan moves data to host memory. */
export const offloads = ({ steps }: Pick<Plan, "steps">): boolean => steps.some(({ offload }) => offload !== undefined);

/**
 * What to run, in which order and how often, and what to free when, for a training step or a graph. Ops are named by occurrence
 * (rule T9: module call, phase, kernel, ordinal, and the shapes of the outputs), so that another run of the same model can follow it.
 *
 * Memory is what the steps say: an op's outputs and what it works with are held while it runs, a value until it is freed. What is recomputed
 * is so as soon as the step before it is done, before user code goes on; so is what is reloaded. What is offloaded is held until it has moved. A view shares its storage's fate: once the storage is recomputed, so
 * is the view.
 */
export interface Plan {
  readonly subject: PlanSubject;
  readonly origin: PlanOrigin;
  readonly predicted: PlanPrediction;
  readonly ops: readonly PlanOp[];
  /** The ops with which forward and backward passes begin, in order. Left out where nothing marks them: then each run of forward ops begins one. */
  readonly passes?: readonly number[];
  readonly sources: readonly PlanSource[];
  readonly steps: readonly PlanStep[];
}
