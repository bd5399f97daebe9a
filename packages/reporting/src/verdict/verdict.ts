import type { CategoryName, Trace } from "@remat/trace";
import type { WayToFit } from "./way-to-fit.js";

/** A step's peak memory after an action, such as planning or measuring. */
export interface Outcome {
  /** `planned`, `measured`. */
  readonly name: string;
  readonly peakBytes: number;
  /** Extra time as a fraction of the baseline's time. */
  readonly overhead?: number;
}

/** A step with its manual activation checkpointing, as it runs without a plan. */
export interface GivenStep {
  readonly peakBytes: number;
  /** Number of ops that recompute activations. */
  readonly recomputedOps: number;
}

/** A batch size and its peak memory. */
export interface FittingBatch {
  readonly batch: number;
  readonly peakBytes: number;
  /**
   * True if the search ended at its own limit, so that larger batches may fit. Left out if the next larger batch does
   * not fit.
   */
  readonly isSearchLimit?: true;
}

/** The lowest peak that a plan of a step can reach. Sizes are rounded up to the allocation unit. */
export interface LeastHeld {
  /** Bytes on one device. */
  readonly bytes: number;
  /**
   * Bytes on each of `worldSize` ranks, with weights sharded by FSDP at the usual blocks. Left out if they cannot be
   * sharded.
   */
  readonly ranks?: { readonly worldSize: number; readonly bytes: number };
}

/**
 * The answer to the first question of every user: does a step fit, and what comes next? Sizes are rounded up to the
 * allocation unit.
 */
export interface Verdict {
  /** Peak memory, as returned by `heldPeak`. For a truncated trace, the peak before its end. */
  readonly peakBytes: number;
  /** Categories of the peak, largest first. */
  readonly categories: readonly { readonly category: CategoryName; readonly bytes: number; readonly share: number }[];
  /** The device that the step is judged for. */
  readonly device: string;
  /** True if the device is remat's default. Left out if it was chosen, or if the step was recorded on it. */
  readonly isDefaultDevice?: true;
  /** Memory of the device in bytes. Undefined if unknown. */
  readonly deviceMemoryBytes: number | undefined;
  /**
   * True if the step fits. Undefined if the device's memory is unknown, or if a truncated trace ends before that memory
   * is exceeded.
   */
  readonly fits: boolean | undefined;
  /** Unused memory of the device. Negative if memory is missing, and undefined if `fits` is. */
  readonly spareBytes: number | undefined;
  /** The peak with early release, or undefined if the model is not available. */
  readonly earlyReleasePeakBytes: number | undefined;
  /** The peak of a plan without recomputation, or undefined if it cannot be computed for the run. */
  readonly unrecomputedPeakBytes: number | undefined;
  /** An option with a lower peak and no slowdown, or undefined if none exists or it is unknown. */
  readonly free: WayToFit | undefined;
  /** Number of ops that recompute activations under manual checkpointing. */
  readonly recomputedOps: number;
  /** The step with its manual checkpointing, if this verdict is on the step without it, otherwise undefined. */
  readonly given: GivenStep | undefined;
  readonly outcome: Outcome | undefined;
  /**
   * The place where the trace ends early, or undefined if the trace is complete. For a truncated trace, everything
   * applies to the part before that place.
   */
  readonly truncated: Trace["truncated"];
  /** Ways to make the step fit, if it does not fit. Undefined if they were not searched for. */
  readonly ways: readonly WayToFit[] | undefined;
  /** The memory that no plan can avoid, if nothing makes the step fit. Undefined if unknown. */
  readonly least: LeastHeld | undefined;
  /**
   * For a prediction, the largest batch that fits, or null if not even one sample fits. Undefined if it was not
   * searched for.
   */
  readonly largestBatch: FittingBatch | null | undefined;
  /** The command to run next. For a truncated trace, it records the trace again. */
  readonly command: string | undefined;
  /** The answer to whether the step fits, in a few words. */
  readonly headline: string;
  /** The whole verdict in sentences, the most important first. */
  readonly facts: readonly string[];
  /** The facts as one paragraph. */
  readonly sentence: string;
}
