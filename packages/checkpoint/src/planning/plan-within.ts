import { planCheckpointing, planningGraphOfTrace } from "@remat/planner";
import { defaultDeviceHere, deviceSpec, priceTrace } from "@remat/runtime-estimator";
import type { Plan, Trace } from "@remat/trace";

/** A plan, and the bytes that its pass is to hold at most beyond what is there when it begins. */
export interface BudgetedPlan {
  readonly plan: Plan;
  readonly addedBytes: number;
}

/** A plan takes all the room that there is: this much of the budget is left for what is held besides, which may grow by a log or a scalar. */
const withSlack = 0.985;

/**
 * A plan for a recorded pass within a budget of all live bytes, of which `heldBytes` are there when a pass begins: weights, inputs, an optimizer's
 * slots, other models. Undefined where none is found.
 *
 * @internal
 */
export async function planWithin(
  trace: Trace,
  heldBytes: number,
  budgetBytes: number,
  planningMs: number,
): Promise<BudgetedPlan | undefined> {
  const priced = priceTrace(trace, deviceSpec(defaultDeviceHere));
  const { baseBytes } = planningGraphOfTrace(priced);
  const besides = heldBytes - baseBytes;
  if (budgetBytes <= besides) return undefined;
  for (const part of [withSlack, 1]) {
    const { point } = await planCheckpointing(priced, {
      budgetBytes: Math.max(1, part * budgetBytes - besides),
      timeMs: planningMs,
      boundTimeMs: 0,
    });
    if (point !== undefined) return { plan: point.plan, addedBytes: point.peakBytes - baseBytes };
  }
  return undefined;
}
