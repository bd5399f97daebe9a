import type { BackendModule } from "@remat/dispatch-hook/backends/node";
import type { MemoryMoment } from "@remat/memory";
import type { StepSource } from "../load-model.js";

/** How the steps of a job are to hold memory. */
export type Execution =
  | { readonly kind: "stock" }
  | { readonly kind: "early-release"; readonly updateInBackward?: boolean }
  /** The text of a plan file. */
  | { readonly kind: "plan"; readonly plan: string; readonly offloadsOnHost?: boolean };

/** Whether gradients are gone when the backward pass is over, so that nobody can read them. */
export const consumesGradients = (execution: Execution): boolean =>
  execution.kind === "early-release" && execution.updateInBackward === true;

/** A tensor of one step: what two runs are compared by. */
export interface TensorPlace {
  readonly step: number;
  readonly kind: "gradient" | "weight";
  readonly name: string;
}

/** What a process that runs training steps is asked to do. */
export interface StepJob {
  readonly source: StepSource;
  /** As `selectBackend` found it: a process that must not load the hook does not look for it. */
  readonly backend: BackendModule;
  readonly execution: Execution;
  readonly steps: number;
  /** Whether to digest gradients and weights: reading them takes time and memory, so what is measured is not digested. */
  readonly digest: boolean;
  /** Tensors whose values are wanted. */
  readonly read: readonly TensorPlace[];
  /** Whether to record one more step, for what is held by category. */
  readonly record: boolean;
  /** The most that the process may have resident; left out: whatever it takes. */
  readonly maxResidentBytes?: number | undefined;
  /** What tensors are to hold of that. */
  readonly predictedPeakBytes?: number | undefined;
  /** How many of the largest storages at its peak to tell; 10 if left out. */
  readonly largest?: number;
}

/** One training step. */
export interface StepFigures {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly loss: number;
  /** Most bytes alive at once, weights included, by buffer; undefined where nobody counts. */
  readonly peakBytes?: number;
  readonly recomputedOps?: number;
  readonly recomputedOnTouch?: number;
  readonly offloadedBytes?: number;
  readonly reloadedBytes?: number;
  /** SHA-256 of the bytes, by name. */
  readonly gradients?: Readonly<Record<string, string>>;
  readonly weights?: Readonly<Record<string, string>>;
}

/** What such a process answers. */
export interface StepResult {
  /** Samples in a batch. */
  readonly batch: number;
  /** What the model says of itself. */
  readonly notes: readonly string[];
  readonly steps: readonly StepFigures[];
  /** Resident when libraries and backend were loaded, and at most until the last step was over. */
  readonly loadedBytes: number;
  readonly peakResidentBytes: number;
  /** Values of what was to be read, in order; undefined where no such tensor came up. */
  readonly values: readonly (Float32Array | Int32Array | Uint8Array | undefined)[];
  /** The step that was recorded. */
  readonly recorded?: RecordedStep | undefined;
}

export interface RecordedStep {
  readonly peakBytes: number;
  readonly bytesByCategory: Readonly<Record<string, number>>;
  /** What is alive at the peak. */
  readonly moment: MemoryMoment;
  readonly ops: number;
  readonly recomputedOps: number;
}
