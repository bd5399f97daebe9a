import type { CategoryName, Trace } from "@remat/trace";
import type { WayToFit } from "./way-to-fit.js";

/** What was done about a step's memory, and what it then holds at its peak. */
export interface Outcome {
  /** `planned`, `measured`. */
  readonly name: string;
  readonly peakBytes: number;
  /** Time beyond stock's, as a fraction of it. */
  readonly overhead?: number;
}

/** A step with the blocks that its model checkpoints by hand, as it runs where nobody plans it. */
export interface GivenStep {
  readonly peakBytes: number;
  readonly recomputedOps: number;
}

/** A batch, and its peak memory. */
export interface FittingBatch {
  readonly batch: number;
  readonly peakBytes: number;
  /** The search ended here because of its own limit, and the batch still fits: larger ones may fit. Left out if the next larger batch does not fit. */
  readonly isSearchLimit?: true;
}

/** What no plan of a step holds less than. Bytes as allocated. */
export interface LeastHeld {
  /** On one device. */
  readonly bytes: number;
  /** On each of as many ranks as somebody may have, over which weights are sharded as a user of FSDP would; left out: they cannot be. */
  readonly ranks?: { readonly worldSize: number; readonly bytes: number };
}

/** What everybody asks first: whether a step fits, and what to do next. Bytes as allocated. */
export interface Verdict {
  /** The most that is held, `heldPeak` of the account of memory; of a trace that breaks off, before it does. */
  readonly peakBytes: number;
  /** What of the peak is what, largest first. */
  readonly categories: readonly { readonly category: CategoryName; readonly bytes: number; readonly share: number }[];
  /** The device that it is meant for. */
  readonly device: string;
  /** Undefined where nobody says how much memory it has. */
  readonly deviceMemoryBytes: number | undefined;
  /** Undefined where the device's memory is, and of a trace that breaks off before more is held than that. */
  readonly fits: boolean | undefined;
  /** What is left of the device's memory; below zero, what is missing; undefined as `fits` is. */
  readonly spareBytes: number | undefined;
  /** The peak with early release; undefined where no model is at hand to take the step of. */
  readonly earlyReleasePeakBytes: number | undefined;
  /** The peak of a plan without recomputation; undefined where that cannot be said of the run. */
  readonly unrecomputedPeakBytes: number | undefined;
  /** What holds less and costs no time; undefined where nothing does, or nobody can say. */
  readonly free: WayToFit | undefined;
  /** How many ops recompute what is checkpointed by hand. */
  readonly recomputedOps: number;
  /** What the step holds with the blocks that are checkpointed by hand, of which this is the step without; undefined where there are none. */
  readonly given: GivenStep | undefined;
  readonly outcome: Outcome | undefined;
  /** Where the trace breaks off, so that all this is only of what comes before; undefined of one that is whole. */
  readonly truncated: Trace["truncated"];
  /** Of what does not fit: what does. Undefined where that was not looked for. */
  readonly ways: readonly WayToFit[] | undefined;
  /** Of what nothing makes fit: how much of it no plan can help. Undefined where that is not known. */
  readonly least: LeastHeld | undefined;
  /** Of a prediction the largest batch that fits; null: not even one sample. Undefined where that was not looked for. */
  readonly largestBatch: FittingBatch | null | undefined;
  /** The next step, as it is typed; of a trace that breaks off there is none but to record it again. */
  readonly command: string | undefined;
  /** All of it in words, in the order of what is asked first. */
  readonly facts: readonly string[];
  /** The same in one line. */
  readonly sentence: string;
}
