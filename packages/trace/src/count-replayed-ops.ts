import type { Trace } from "./trace.js";
import { Phase } from "./vocabulary.js";

/**
 * Returns how many ops of a trace are kernel calls that an executor replayed, since what they had made was evicted: of blocks that were checkpointed by hand,
 * or after a plan. What a gradient function computes anew is none, nor what another framework than TensorFlow.js runs anew: those are ops like any other.
 */
export function countReplayedOps({ header, ops }: Trace): number {
  if (header.framework !== "tfjs") return 0;
  let count = 0;
  for (let op = 0; op < ops.count; op++)
    if (ops.phase[op] === Phase.recompute && ops.forwardOp[op] < 0 && ops.forwardScope[op] < 0) count++;
  return count;
}
