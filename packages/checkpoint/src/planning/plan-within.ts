import { planCheckpointing, planningGraphOfTrace } from "@remat/planner";
import { defaultDeviceHere, deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { Trace, type TraceParts } from "@remat/trace";
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

/** A plan takes all the room that there is: this much of the budget is left for what is held besides, which may grow by a log or a scalar. */
const withSlack = 0.985;
/** Of what is left of the time, for a plan that leaves no room. */
const shareWithSlack = 0.7;

/**
 * Plans a recorded pass within a budget. Undefined where nothing is found that recomputes no more than what goes on anyway.
 *
 * @internal
 */
export async function planWithin(request: PlanningRequest): Promise<PlannedPass | undefined> {
  const { heldBytes, budgetBytes, planningMs, recomputedAnyway } = request;
  const deadline = performance.now() + planningMs;
  const trace = priceTrace(new Trace(request.trace), deviceSpec(defaultDeviceHere));
  const { baseBytes } = planningGraphOfTrace(trace);
  const besides = heldBytes - baseBytes;
  if (budgetBytes <= besides) return undefined;
  for (const part of [withSlack, 1]) {
    const leftMs = deadline - performance.now();
    if (leftMs <= 0) return undefined;
    const { point } = await planCheckpointing(trace, {
      budgetBytes: Math.max(1, part * budgetBytes - besides),
      timeMs: part < 1 ? shareWithSlack * leftMs : leftMs,
      boundTimeMs: 0,
    });
    if (point === undefined) continue;
    const { plain, cost } = point.plan.predicted;
    if (recomputedAnyway !== undefined && cost - plain.cost > msOf(trace, recomputedAnyway)) return undefined;
    return { script: scriptOfPlan(point.plan), addedBytes: point.peakBytes - baseBytes };
  }
  return undefined;
}

/** In the same currency as a plan's cost; and rounding must not refuse what is equal. */
function msOf({ ops }: Trace, recomputed: readonly number[]): number {
  let ms = 0;
  for (const op of recomputed) ms += ops.runtimeMs[op] || 0;
  return ms * (1 + 1e-9);
}
