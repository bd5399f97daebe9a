import type { CategoryName, Trace } from "@remat/trace";
import type { WayToFit } from "./way-to-fit.js";

/** A step's peak memory after an action, such as planning or measuring. */
export interface Outcome {
  /** `planned`, `measured`. */
  readonly name: string;
  readonly peakBytes: number;
  /** Extra time as a fraction of the baseline's. */
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
   * The search ended here because of its own limit, so larger batches may fit. Left out if the next larger batch does
   * not fit.
   */
  readonly isSearchLimit?: true;
}

/** The lowest peak that a plan of a step can reach. Bytes as allocated. */
export interface LeastHeld {
  /** On one device. */
  readonly bytes: number;
  /**
   * On each of `worldSize` ranks, with weights sharded by FSDP at the usual blocks. Left out if they cannot be sharded.
   */
  readonly ranks?: { readonly worldSize: number; readonly bytes: number };
}

/** Answers the first question of every user: does a step fit, and what to do next? Bytes as allocated. */
export interface Verdict {
  /** Peak memory, as given by `heldPeak`. For a truncated trace: the peak before its end. */
  readonly peakBytes: number;
  /** Categories of the peak, largest first. */
  readonly categories: readonly { readonly category: CategoryName; readonly bytes: number; readonly share: number }[];
  /** The device that the step is judged for. */
  readonly device: string;
  /** True if the device is remat's default. Left out if it was chosen, or if the step was recorded on it. */
  readonly isDefaultDevice?: true;
  /** Undefined if its memory is unknown. */
  readonly deviceMemoryBytes: number | undefined;
  /** Undefined if the device's memory is unknown, or if a truncated trace ends before it is exceeded. */
  readonly fits: boolean | undefined;
  /** Unused memory of the device. Negative if memory is missing, and undefined if `fits` is. */
  readonly spareBytes: number | undefined;
  /** The peak with early release, or undefined if the model is not available. */
  readonly earlyReleasePeakBytes: number | undefined;
  /** The peak of a plan without recomputation, or undefined if it cannot be computed for the run. */
  readonly unrecomputedPeakBytes: number | undefined;
  /** An option with a lower peak and no slowdown, or undefined if there is none or it is unknown. */
  readonly free: WayToFit | undefined;
  /** Number of ops that recompute activations under manual checkpointing. */
  readonly recomputedOps: number;
  /** The step with its manual checkpointing, if this verdict is on the step without it, otherwise undefined. */
  readonly given: GivenStep | undefined;
  readonly outcome: Outcome | undefined;
  /**
   * Where the trace ends early, in which case everything applies to the part before, or undefined if it is complete.
   */
  readonly truncated: Trace["truncated"];
  /** Ways to make the step fit if it does not, or undefined if not searched for. */
  readonly ways: readonly WayToFit[] | undefined;
  /** The memory that no plan can avoid, if nothing makes the step fit, or undefined if unknown. */
  readonly least: LeastHeld | undefined;
  /**
   * For a prediction: the largest batch that fits, or null if not even one sample does. Undefined if not searched for.
   */
  readonly largestBatch: FittingBatch | null | undefined;
  /** The command to run next. For a truncated trace this can only be to record it again. */
  readonly command: string | undefined;
  /** The answer to whether the step fits, in a few words. */
  readonly headline: string;
  /** All of it in sentences, the most important first. */
  readonly facts: readonly string[];
  /** The same as one paragraph. */
  readonly sentence: string;
}
