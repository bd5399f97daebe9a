import { workingSet } from "@remat/planner";
import { planningGraphOfTrace } from "@remat/planner/graph";
import { simulateFsdp, usualWrap } from "@remat/sharding";
import { RematError, type Trace } from "@remat/trace";
import type { LeastHeld } from "../verdict/verdict.js";
import { mostRanks } from "./fewest-ranks.js";

/**
 * Returns what no plan of a step can do without, on one device and on each of as many ranks as somebody may have: why nothing makes it fit. Undefined of a run that cannot be planned.
 *
 * @example
 * leastHeld(trace)?.bytes; // with which `budgetBytes` or less `planCheckpointing` finds no plan
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
    // A run without a backward pass, without weights.
    if (!(error instanceof RematError)) throw error;
    return undefined;
  }
}
