import { planCheckpointing } from "@remat/planner";
import { planningGraphOfTrace } from "@remat/planner/graph";
import { defaultDeviceHere, deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { formatOccurrence, Trace, type TraceParts } from "@remat/trace";
import { type PlanScript, scriptOfPlan } from "../plan/plan-script.js";

/** A recorded pass for which a plan is wanted. @internal */
export interface PlanningRequest {
  readonly trace: TraceParts;
  /** What is there when a pass begins: weights, inputs, an optimizer's slots, other models. */
  readonly heldBytes: number;
  /** For all live bytes. */
  readonly budgetBytes: number;
  /** For everything, from now on. */
  readonly planningMs: number;
  /** The ops that are recomputed in a pass without a plan, each as often as it is; left out where that is not known. */
  readonly recomputedAnyway?: readonly number[] | undefined;
}

/** What to do in a pass, and the bytes that it is to hold at most beyond what is there when it begins. @internal */
export interface PlannedPass {
  readonly script: PlanScript;
  readonly addedBytes: number;
}

/** Why there is no plan: the op that needs most, and the bytes in all that a plan was found for; undefined where none was sought, or one would recompute too much. @internal */
export interface UnplannedPass {
  readonly op: string | undefined;
  readonly neededBytes: number | undefined;
}

/** A plan takes all the room that there is: this much of the budget is left for what is held besides, which may grow by a log or a scalar. */
const withSlack = 0.985;
/** Of what is left of the time, for a plan that leaves no room. */
const shareWithSlack = 0.7;

/**
 * Plans a recorded pass within a budget; or tells why nothing is found that recomputes no more than what goes on anyway.
 *
 * @internal
 */
export async function planWithin(request: PlanningRequest): Promise<PlannedPass | UnplannedPass> {
  const { heldBytes, budgetBytes, planningMs, recomputedAnyway } = request;
  const deadline = performance.now() + planningMs;
  const trace = priceTrace(new Trace(request.trace), deviceSpec(defaultDeviceHere));
  const { baseBytes } = planningGraphOfTrace(trace);
  const besides = heldBytes - baseBytes;
  let unplanned: UnplannedPass = { op: undefined, neededBytes: undefined };
  if (budgetBytes <= besides) return unplanned;
  for (const part of [withSlack, 1]) {
    const leftMs = deadline - performance.now();
    if (leftMs <= 0) return unplanned;
    const { point, infeasible } = await planCheckpointing(trace, {
      budgetBytes: Math.max(1, part * budgetBytes - besides),
      timeMs: part < 1 ? shareWithSlack * leftMs : leftMs,
      boundTimeMs: 0,
    });
    if (infeasible !== undefined)
      unplanned = {
        op: formatOccurrence(infeasible.occurrence),
        neededBytes: infeasible.smallestFoundBytes + besides,
      };
    if (point === undefined) continue;
    const { plain, cost } = point.plan.predicted;
    if (recomputedAnyway !== undefined && cost - plain.cost > msOf(trace, recomputedAnyway)) return unplanned;
    return { script: scriptOfPlan(point.plan), addedBytes: point.peakBytes - baseBytes };
  }
  return unplanned;
}

/** In the same currency as a plan's cost; and rounding must not refuse what is equal. */
function msOf({ ops }: Trace, recomputed: readonly number[]): number {
  let ms = 0;
  for (const op of recomputed) ms += ops.runtimeMs[op] || 0;
  return ms * (1 + 1e-9);
}
