import type { MemoryFailure } from "@remat/trace";

/** What a thread tells of the step that it is in, anew before each op: it may be the last that it says. */
export interface RunningStep
  extends Pick<MemoryFailure, "op" | "line" | "askedBytes" | "stepsBefore" | "bytesPerStep"> {
  /** All that the program holds as the step begins. */
  readonly heldBytes: number;
  /** How many ops of it had run when `op` was about to; left out: none is. */
  readonly opsBefore?: number;
}

/** Ends of the names of a thread's files: the step that it is in, op by op, and what it tells of it. @internal */
export const runningTraceName = "running.remat.jsonl";
/** @internal */
export const runningStepName = "running.json";
/** End of the name of Node's own report of a process that had no memory left for JavaScript. @internal */
export const heapReportName = "heap.json";
