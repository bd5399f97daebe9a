import type { StepPrediction } from "@remat/checkpoint/predict";
import type { BackendModule, BackendName } from "@remat/dispatch-hook/backends/node";
import type { Budget } from "@remat/memory";
import type { StepSource } from "../load-model.js";
import type { MemoryLimit } from "./require-room.js";

/** The requested execution of the steps. */
export type Wanted =
  | { readonly kind: "stock" }
  | { readonly kind: "early-release"; readonly updateInBackward: boolean }
  /** The smallest cost within a budget, or the smallest peak within a cost. */
  | { readonly kind: "budget"; readonly budget: Budget }
  | { readonly kind: "overhead"; readonly maxOverhead: number }
  /** The text of a plan file, and its path. */
  | { readonly kind: "plan"; readonly plan: string; readonly path: string };

/** Input of the process that predicts and plans. */
export interface PlanningJob {
  /** Its request names a backend only if a particular one is required. */
  readonly source: StepSource;
  /** The backend that a plan was made for, which is used if it works here. */
  readonly plannedBackend: BackendName | undefined;
  /** The folder from which backend packages are looked up first. */
  readonly from: string;
  readonly wanted: Wanted;
  /** Search time for a plan. */
  readonly timeMs: number;
  /**
   * Without a plan, a step that does not fit is rejected before any op is timed. A plan depends on times, so it is
   * checked later.
   */
  readonly memory?: MemoryLimit | undefined;
  /** File for saved op times. Left out: in the cache folder. */
  readonly timesPath?: string;
}

export interface PlanningResult {
  readonly backend: BackendModule;
  /** Names the package in use, and earlier ones that did not work. */
  readonly backendNote: string;
  readonly modelName: string;
  readonly notes: readonly string[];
  readonly restingBytes: number;
  readonly stock: StepPrediction;
  readonly predicted: StepPrediction;
  /** Upper bound of kernel memory other than tensors. */
  readonly libraryBytes: number;
  readonly budgetBytes?: number | undefined;
  /** The plan to follow. Absent for the baseline and early release. */
  readonly plan?: string;
}
