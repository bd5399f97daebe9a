import type { LeakReport } from "@remat/leaks";
import type { MemoryFailure } from "@remat/trace";
import type { FailedOperation } from "./outside/failed-operation.js";

/** A training step of a program, recorded. */
export interface RecordedStep {
  /** The file with its trace. */
  readonly file: string;
  /** Name of the model, where one was seen. */
  readonly model: string | undefined;
  /** Class of the optimizer; undefined where the program updates its weights itself. */
  readonly optimizer: string | undefined;
  /** How many steps were recorded, and how many of them ran the ops of the trace. */
  readonly steps: number;
  readonly alike: number;
  readonly ops: number;
  /** With all that the program holds, as a budget counts it. */
  readonly peakBytes: number;
  /** The peak of that of the steps which holds most: more than {@link peakBytes} where only one of its kind does. */
  readonly mostBytes: number;
  /** Median of the steps, while they were recorded. */
  readonly stepMs: number;
}

/** The newest step of a thread that is watched. */
export interface WatchedStep {
  /** The file with its trace, until the next but one is there. */
  readonly file: string;
  /** Which pass it began with, from 1 on: a step that accumulates takes several. */
  readonly pass: number;
  readonly model: string | undefined;
  readonly optimizer: string | undefined;
  /** While it was recorded. */
  readonly stepMs: number;
}

/** What has come of running a thread's steps within a budget, after a plan or with early release. */
export interface ExecutedPasses {
  /** Undefined without one. */
  readonly budgetBytes: number | undefined;
  /** Known where the budget is a part of it. */
  readonly stockPeakBytes: number | undefined;
  /** The most bytes alive between two ops, which is what a budget is of. */
  readonly heldBytes: number;
  /** The most bytes alive, with what kernels allocate for themselves. */
  readonly peakBytes: number;
  /** The most bytes alive before the budget was known, in the passes that told what stock holds, and before; left out: it was known from the start. */
  readonly measuredPeakBytes?: number | undefined;
  /** How many passes, from the first on, that is of, where nobody counts in later ones. */
  readonly countedPasses?: number | undefined;
  /** Milliseconds of all passes, and of these for recomputation. */
  readonly passesMs: number;
  readonly recomputedMs: number;
  readonly recomputedOps: number;
  /** That moved to host memory, of all passes. */
  readonly offloadedBytes: number;
  /** How many passes have followed each of the plans that were given to its end. */
  readonly planPasses: readonly number[];
  /** What the pass has followed in which, or in the update after which, the most was alive: one of these plans, or none. */
  readonly peakPlan: number | undefined;
  /** Where the first pass that left the likeliest of the plans did so: which op was planned, and which was found. */
  readonly leftPlan?: string;
}

/** What a process holds in main memory, of tensors and all else, as the system counts it. */
export interface ResidentBytes {
  readonly beforePasses: number;
  /** The most that it has held until now. */
  readonly most: number;
}

/** How a thread ended for lack of memory. */
export interface ProgramFailure extends MemoryFailure {
  /** All that it held as the step began. */
  readonly heldBytes: number;
  /** The file with the trace of the step in which that was, whole to its last op; left out: it was in none that was being recorded. */
  readonly file?: string;
}

/** What a thread of a program, in which tfjs was loaded, has to tell. */
export interface ThreadReport {
  readonly pid: number;
  readonly thread: number;
  /** Milliseconds since the epoch at which tfjs was loaded. */
  readonly startedAt: number;
  /** Milliseconds since the epoch at which this was written: the last that is known of a thread that did not come to its end by itself. */
  readonly writtenAt: number;
  /** Of tfjs-core. */
  readonly version: string;
  /** Forward and backward passes that were seen. */
  readonly passes: number;
  /** Where its tensors are, as a trace names it (`cpu`, `cuda:0`); left out: it has had no backend yet. */
  readonly device?: string;
  /** What has kept remat from its work here, with the next step. */
  readonly problem?: string;
  readonly recorded?: readonly RecordedStep[];
  readonly watched?: WatchedStep;
  readonly executed?: ExecutedPasses;
  readonly failure?: ProgramFailure;
  /** Whether it came to its end by itself; left out if it was killed. */
  readonly isOver?: true;
  /** What is alive, and what of it grows: at the end, or, of a thread that was killed, some seconds before. */
  readonly leaks?: LeakReport;
  /** Of the whole process; undefined before the first pass. */
  readonly resident?: ResidentBytes;
  /** The first of remat's own operations in the thread that failed, such as writing a file: what came after it may be missing here. */
  readonly lost?: FailedOperation;
}
