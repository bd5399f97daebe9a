import type { StepPrediction } from "@remat/checkpoint/predict";
import type { BackendModule, BackendName } from "@remat/dispatch-hook/backends/node";
import type { Budget } from "@remat/memory";
import type { StepSource } from "../load-model.js";
import type { MemoryLimit } from "./require-room.js";

/** What is wanted of the steps. */
export type Wanted =
  | { readonly kind: "stock" }
  | { readonly kind: "early-release"; readonly updateInBackward: boolean }
  /** The smallest cost within a budget, or the smallest peak for a cost. */
  | { readonly kind: "budget"; readonly budget: Budget }
  | { readonly kind: "overhead"; readonly maxOverhead: number }
  /** The text of a plan file, and where it is. */
  | { readonly kind: "plan"; readonly plan: string; readonly path: string };

/** What the process that predicts is asked to do. */
export interface PlanningJob {
  /** Its request names a backend only where that one is meant. */
  readonly source: StepSource;
  /** The backend that a plan was made for, which is taken if it works here. */
  readonly plannedBackend: BackendName | undefined;
  /** From which folder the backend's packages are looked up first. */
  readonly from: string;
  readonly wanted: Wanted;
  /** How long to look for a plan. */
  readonly timeMs: number;
  /** A step that has no room is refused before any op is timed, unless it follows a plan, which is made of times. */
  readonly memory?: MemoryLimit | undefined;
  /** Where times of ops are kept; left out: in the cache folder. */
  readonly timesPath?: string;
}

export interface PlanningResult {
  readonly backend: BackendModule;
  /** The package, and the ones before it that did not work. */
  readonly backendNote: string;
  readonly modelName: string;
  readonly notes: readonly string[];
  readonly restingBytes: number;
  readonly stock: StepPrediction;
  readonly predicted: StepPrediction;
  /** What kernels hold beside tensors, at most. */
  readonly libraryBytes: number;
  readonly budgetBytes?: number | undefined;
  /** To be followed; absent for stock and early release. */
  readonly plan?: string;
}
