import type { Trace } from "./trace.js";
import { Phase } from "./vocabulary.js";

/**
 * Counts the ops of a trace that an executor replayed because their results had been evicted. They belong to manually
 * checkpointed blocks, or follow a plan. Ops that a gradient function recomputes are ordinary ops and do not count.
 * Neither do recomputed ops of a framework other than TensorFlow.js.
 */
export function countReplayedOps({ header, ops }: Trace): number {
  if (header.framework !== "tfjs") return 0;
  let count = 0;
  for (let op = 0; op < ops.count; op++)
    if (ops.phase[op] === Phase.recompute && ops.forwardOp[op] < 0 && ops.forwardScope[op] < 0) count++;
  return count;
}
