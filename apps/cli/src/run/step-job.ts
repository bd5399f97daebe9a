import type { BackendModule } from "@remat/dispatch-hook/backends/node";
import type { MemoryMoment } from "@remat/memory";
import type { StepSource } from "../load-model.js";

/** How the steps of a job use memory. */
export type Execution =
  | { readonly kind: "stock" }
  | { readonly kind: "early-release"; readonly updateInBackward?: boolean }
  /** The text of a plan file. */
  | { readonly kind: "plan"; readonly plan: string; readonly offloadsOnHost?: boolean };

/** Returns whether gradients are already consumed when the backward pass ends, so that they cannot be read. */
export const consumesGradients = (execution: Execution): boolean =>
  execution.kind === "early-release" && execution.updateInBackward === true;

/** A tensor of one step, by which two runs are compared. */
export interface TensorPlace {
  readonly step: number;
  readonly kind: "gradient" | "weight";
  readonly name: string;
}

/** Input of a process that runs training steps. */
export interface StepJob {
  readonly source: StepSource;
  /** As found by `selectBackend`. A process that must not load the hook cannot call that function. */
  readonly backend: BackendModule;
  readonly execution: Execution;
  readonly steps: number;
  /**
   * True to compute digests of gradients and weights. Reading them takes time and memory, so measured steps are not
   * digested.
   */
  readonly digest: boolean;
  /** Tensors whose values are requested. */
  readonly read: readonly TensorPlace[];
  /** True to record one more step, for memory by category. */
  readonly record: boolean;
  /** Limit of the process's resident memory. Left out: unlimited. */
  readonly maxResidentBytes?: number | undefined;
  /** The predicted peak of the tensors, as a part of that limit. */
  readonly predictedPeakBytes?: number | undefined;
  /** How many of the largest storages at its peak to list (10 by default). */
  readonly largest?: number;
}

/** One training step. */
export interface StepFigures {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly loss: number;
  /** Peak memory by buffer, including weights, or undefined if not counted. */
  readonly peakBytes?: number;
  readonly recomputedOps?: number;
  readonly recomputedOnTouch?: number;
  readonly offloadedBytes?: number;
  readonly reloadedBytes?: number;
  /** SHA-256 of the bytes, by name. */
  readonly gradients?: Readonly<Record<string, string>>;
  readonly weights?: Readonly<Record<string, string>>;
}

/** Result of such a process. */
export interface StepResult {
  /** Samples in a batch. */
  readonly batch: number;
  /** Notes about the model. */
  readonly notes: readonly string[];
  readonly steps: readonly StepFigures[];
  /** Resident memory after loading libraries and backend, and the highest until the end of the last step. */
  readonly loadedBytes: number;
  readonly peakResidentBytes: number;
  /** Requested values, in order, or undefined if no such tensor occurred. */
  readonly values: readonly (Float32Array | Int32Array | Uint8Array | undefined)[];
  /** The recorded step. */
  readonly recorded?: RecordedStep | undefined;
}

export interface RecordedStep {
  readonly peakBytes: number;
  readonly bytesByCategory: Readonly<Record<string, number>>;
  /** Tensors alive at the peak. */
  readonly moment: MemoryMoment;
  readonly ops: number;
  readonly recomputedOps: number;
}
