import { planCheckpointing } from "@remat/planner";
import { planningGraphOfTrace } from "@remat/planner/graph";
import { defaultDeviceHere, deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { formatOccurrence, Trace, type TraceParts } from "@remat/trace";
import { type PlanScript, scriptOfPlan } from "../plan/plan-script.js";

/** A recorded pass to plan. @internal */
export interface PlanningRequest {
  readonly trace: TraceParts;
  /** Bytes alive when a pass begins: weights, inputs, optimizer slots, other models. */
  readonly heldBytes: number;
  /** Budget for all live bytes. */
  readonly budgetBytes: number;
  /** Time limit for everything from now on, in milliseconds. */
  readonly planningMs: number;
  /** Ops recomputed in a pass without a plan, once per recomputation. Undefined if unknown. */
  readonly recomputedAnyway?: readonly number[] | undefined;
}

/** The plan of a pass. @internal */
export interface PlannedPass {
  readonly script: PlanScript;
  /** Predicted peak in bytes, beyond the data that exists when the pass begins. */
  readonly addedBytes: number;
}

/** Explains why no plan was found. @internal */
export interface UnplannedPass {
  /** The op that needs the most memory. Undefined if no plan was sought, or if one would recompute too much. */
  readonly op: string | undefined;
  /** Total bytes for which a plan was found. */
  readonly neededBytes: number | undefined;
}

/**
 * A plan uses all available memory. This share of the budget leaves some for other tensors that may grow, such as a log
 * or a scalar.
 */
const withSlack = 0.985;
/** Share of the remaining time for a plan with that slack. */
const shareWithSlack = 0.7;

/**
 * Plans a recorded pass within a budget. The plan must not recompute more than the pass does without a plan. If none is
 * found, returns the reason.
 *
 * @internal
 */
export async function planWithin(request: PlanningRequest): Promise<PlannedPass | UnplannedPass> {
  const { heldBytes, budgetBytes, planningMs, recomputedAnyway } = request;
  const deadline = performance.now() + planningMs;
  const trace = priceTrace(new Trace(request.trace), deviceSpec(defaultDeviceHere));
  const { baseBytes } = planningGraphOfTrace(trace);
  const otherBytes = heldBytes - baseBytes;
  let unplanned: UnplannedPass = { op: undefined, neededBytes: undefined };
  if (budgetBytes <= otherBytes) return unplanned;
  for (const part of [withSlack, 1]) {
    const leftMs = deadline - performance.now();
    if (leftMs <= 0) return unplanned;
    const { point, infeasible } = await planCheckpointing(trace, {
      budgetBytes: Math.max(1, part * budgetBytes - otherBytes),
      timeMs: part < 1 ? shareWithSlack * leftMs : leftMs,
      boundTimeMs: 0,
    });
    if (infeasible !== undefined)
      unplanned = {
        op: formatOccurrence(infeasible.occurrence),
        neededBytes: infeasible.smallestFoundBytes + otherBytes,
      };
    if (point === undefined) continue;
    const { plain, cost } = point.plan.predicted;
    if (recomputedAnyway !== undefined && cost - plain.cost > msOf(trace, recomputedAnyway)) return unplanned;
    return { script: scriptOfPlan(point.plan), addedBytes: point.peakBytes - baseBytes };
  }
  return unplanned;
}

/** Uses the same times as the plan's cost. The factor keeps rounding from rejecting an equal cost. */
function msOf({ ops }: Trace, recomputed: readonly number[]): number {
  let ms = 0;
  for (const op of recomputed) ms += ops.runtimeMs[op] || 0;
  return ms * (1 + 1e-9);
}
