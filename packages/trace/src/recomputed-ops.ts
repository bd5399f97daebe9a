import type { Trace } from "./trace.js";
import { Phase } from "./vocabulary.js";

/**
 * Returns how many ops of a trace repeat one of its forward pass, since what that made was evicted: of blocks that were checkpointed by hand, or after a
 * plan. What a gradient function computes anew is none.
 */
export function countRecomputedOps({ ops }: Trace): number {
  let count = 0;
  for (let op = 0; op < ops.count; op++)
    if (ops.phase[op] === Phase.recompute && ops.forwardOp[op] < 0 && ops.forwardScope[op] < 0) count++;
  return count;
}
