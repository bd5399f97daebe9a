import { StepFacts } from "@remat/memory/sequence";
import { workingSet } from "@remat/planner";
import { type PlanningGraphOfTraceOptions, planningGraphOfTrace } from "@remat/planner/graph";
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
export function leastHeld(step: Trace | StepFacts): LeastHeld | undefined {
  const facts = StepFacts.of(step);
  const { planned } = facts;
  const bytes = leastOfPlans(facts);
  if (bytes === undefined) return undefined;
  const rankBytes = leastOf(() => ({
    trace: simulateFsdp(planned, { worldSize: mostRanks, wrap: usualWrap(planned), rank: 0 }).trace,
  }));
  return { bytes, ...(rankBytes !== undefined && { ranks: { worldSize: mostRanks, bytes: rankBytes } }) };
}

const known = new WeakMap<StepFacts, number | undefined>();

/** Returns the same for one device only. It is computed once for each step. */
export function leastOfPlans(facts: StepFacts): number | undefined {
  if (!known.has(facts))
    known.set(
      facts,
      leastOf(() => ({ trace: facts.planned, sequenceGraph: facts.sequenceGraph })),
    );
  return known.get(facts);
}

type StepToPlan = { readonly trace: Trace } & Pick<PlanningGraphOfTraceOptions, "sequenceGraph">;

function leastOf(give: () => StepToPlan): number | undefined {
  try {
    const { trace, ...options } = give();
    return workingSet(planningGraphOfTrace(trace, options), false).bytes;
  } catch (error) {
    // A run without a backward pass or without weights.
    if (!(error instanceof RematError)) throw error;
    return undefined;
  }
}
