import { workingSet } from "@remat/planner";
import { planningGraphOfTrace } from "@remat/planner/graph";
import { simulateFsdp, usualWrap } from "@remat/sharding";
import { RematError, type Trace } from "@remat/trace";
import type { LeastHeld } from "../verdict/verdict.js";
import { mostRanks } from "./fewest-ranks.js";

/**
 * Returns the memory that no plan of a step can avoid, on one device, and on each rank with the largest number of ranks
 * considered. It explains why nothing makes a step fit. Undefined if the run cannot be planned.
 *
 * @example
 * leastHeld(trace)?.bytes; // `planCheckpointing` finds no plan with a smaller `budgetBytes`
 */
export function leastHeld(trace: Trace): LeastHeld | undefined {
  const bytes = leastOf(() => trace);
  if (bytes === undefined) return undefined;
  const rankBytes = leastOf(() => {
    return simulateFsdp(trace, { worldSize: mostRanks, wrap: usualWrap(trace), rank: 0 }).trace;
  });
  return { bytes, ...(rankBytes !== undefined && { ranks: { worldSize: mostRanks, bytes: rankBytes } }) };
}

function leastOf(give: () => Trace): number | undefined {
  try {
    return workingSet(planningGraphOfTrace(give()), false).bytes;
  } catch (error) {
    // A run without a backward pass or without weights.
    if (!(error instanceof RematError)) throw error;
    return undefined;
  }
}
