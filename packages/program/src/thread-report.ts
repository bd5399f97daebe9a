import type { LeakReport } from "@remat/leaks";
import type { MemoryFailure } from "@remat/trace";
import type { FailedOperation } from "./outside/failed-operation.js";

/** A recorded training step of a program. */
export interface RecordedStep {
  /** The file with its trace. */
  readonly file: string;
  /** Name of the model, if one was seen. */
  readonly model: string | undefined;
  /** Class of the optimizer, or undefined if the program updates its weights itself. */
  readonly optimizer: string | undefined;
  /** Number of recorded steps. */
  readonly steps: number;
  /** How many of these steps ran the ops of the trace. */
  readonly alike: number;
  /** Number of ops in the trace. */
  readonly ops: number;
  /** Peak memory in bytes. Like a budget, it counts everything that the program keeps alive. */
  readonly peakBytes: number;
  /**
   * The highest peak among the steps. It exceeds {@link peakBytes} if the step with the highest peak ran ops that no
   * other step ran.
   */
  readonly mostBytes: number;
  /** Median time of the steps while they were recorded. */
  readonly stepMs: number;
}

/** The newest step of a watched thread. */
export interface WatchedStep {
  /** The file with its trace. It exists until two newer steps have been written. */
  readonly file: string;
  /** The pass that it began with, counted from 1. A step with gradient accumulation has several passes. */
  readonly pass: number;
  /** Name of the model, if one was seen. */
  readonly model: string | undefined;
  /** Class of the optimizer, or undefined if the program updates its weights itself. */
  readonly optimizer: string | undefined;
  /** Time while it was recorded. */
  readonly stepMs: number;
}

/** Result of running a thread's steps within a budget, under a plan or with early release. */
export interface ExecutedPasses {
  /** Undefined without a budget. */
  readonly budgetBytes: number | undefined;
  /** Peak of the baseline. Undefined unless the budget is a fraction of it. */
  readonly stockPeakBytes: number | undefined;
  /** Highest live memory between two ops. */
  readonly heldBytes: number;
  /** Highest live memory, including memory that kernels allocate while they run. The budget limits this figure. */
  readonly peakBytes: number;
  /**
   * Highest live memory before there was a budget. This includes the passes that measured the baseline. Left out if the
   * budget was known from the start.
   */
  readonly measuredPeakBytes?: number | undefined;
  /** Number of passes that were measured, counted from the first one. Left out if all passes are measured. */
  readonly countedPasses?: number | undefined;
  /** Time of all passes in milliseconds. */
  readonly passesMs: number;
  /** The part of that time spent on recomputation. */
  readonly recomputedMs: number;
  /** Number of recomputed ops over all passes. */
  readonly recomputedOps: number;
  /** Bytes moved to host memory over all passes. */
  readonly offloadedBytes: number;
  /** For each plan of the order, the number of passes that followed it to the end. */
  readonly planPasses: readonly number[];
  /**
   * Index of the plan that was followed when memory was highest, in a pass or in the update after it. Undefined if no
   * plan was followed.
   */
  readonly peakPlan: number | undefined;
  /**
   * The first op of a pass that differed from the pass's plan, and the op of the plan at that place. If no plan begins
   * like the pass, this is about the most likely plan.
   */
  readonly leftPlan?: string;
}

/** Resident memory of a process in bytes, including memory other than tensors. */
export interface ResidentBytes {
  /** Memory before the first pass. */
  readonly beforePasses: number;
  /** The highest value so far. */
  readonly most: number;
}

/** Description of how a thread ran out of memory. */
export interface ProgramFailure extends MemoryFailure {
  /** Live memory as the step began. */
  readonly heldBytes: number;
  /**
   * The file with the trace of the interrupted step, complete up to its last op. Left out if no step was being
   * recorded.
   */
  readonly file?: string;
}

/** Report of a thread of a program in which tfjs was loaded. */
export interface ThreadReport {
  /** Id of its process. */
  readonly pid: number;
  /** Id of the thread within its process, 0 for the main thread. */
  readonly thread: number;
  /** When tfjs was loaded, in milliseconds since the epoch. */
  readonly startedAt: number;
  /**
   * When this report was written, in milliseconds since the epoch. For a thread that was killed, nothing later is
   * known.
   */
  readonly writtenAt: number;
  /** Version of tfjs-core. */
  readonly version: string;
  /** Number of forward and backward passes seen. */
  readonly passes: number;
  /** The device of its tensors, named as in a trace (`cpu`, `cuda:0`). Left out if it has had no backend yet. */
  readonly device?: string;
  /** The reason why remat does not work in this thread, and what to do about it. */
  readonly problem?: string;
  /** The steps recorded under a {@link RecordOrder}. */
  readonly recorded?: readonly RecordedStep[];
  /** The newest step, if it is watched. */
  readonly watched?: WatchedStep;
  /** Result under an {@link ExecOrder}. */
  readonly executed?: ExecutedPasses;
  /** How it ran out of memory, if it did. */
  readonly failure?: ProgramFailure;
  /** True if it ended normally. Left out if it was killed. */
  readonly isOver?: true;
  /**
   * Live tensors at the end of the thread, and which of them grow. For a killed thread, the report is a few seconds
   * older.
   */
  readonly leaks?: LeakReport;
  /** Memory of the whole process, or undefined before the first pass. */
  readonly resident?: ResidentBytes;
  /**
   * The first operation of remat that failed in this thread, such as writing a file. Results after that may be missing
   * from the report.
   */
  readonly lost?: FailedOperation;
}
