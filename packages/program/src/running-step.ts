import type { MemoryFailure } from "@remat/trace";

/** A thread's description of its current step, rewritten before each op because it may be the last one. */
export interface RunningStep
  extends Pick<MemoryFailure, "op" | "line" | "askedBytes" | "stepsBefore" | "bytesPerStep"> {
  /** Bytes that the program keeps alive as the step begins. */
  readonly heldBytes: number;
  /** How many ops of the step ran before `op`. Left out if no op is about to run. */
  readonly opsBefore?: number;
}

/**
 * Suffixes of the names of a thread's files: the current step op by op, and its description.
 *
 * @internal
 */
export const runningTraceName = "running.remat.jsonl";
/** @internal */
export const runningStepName = "running.json";
/**
 * Suffix of the name of Node's own report of a process that ran out of memory for JavaScript.
 *
 * @internal
 */
export const heapReportName = "heap.json";
