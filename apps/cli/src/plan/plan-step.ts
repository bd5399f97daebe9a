import { heldPeak } from "@remat/memory";
import {
  type CheckpointingAnswer,
  type CheckpointingGoal,
  type CheckpointingPoint,
  planningGraphOfTrace,
  planOfTrace,
  rematerialize,
} from "@remat/planner";
import { planCheckpointing } from "@remat/planner/node";
import type { FrontPoint, InfeasibleBudget, PlanFront } from "@remat/reporting";
import { formatOccurrence, type Plan, RematError, type Trace } from "@remat/trace";
import type { ConsoleIo } from "../console-io.js";
import type { Progress } from "../progress.js";
import { interruptible } from "./interruptible.js";
import type { Budget, PlanOptions } from "./plan-options.js";
import { interruptedEarly } from "./refuse.js";
import { showProgress } from "./show-progress.js";

/** A plan of a training step, or why there is none. */
export type StepAnswer =
  | {
      readonly plan: Plan;
      readonly front?: PlanFront;
      readonly notes: readonly string[];
    }
  | { readonly infeasible: InfeasibleBudget };

/** Plans the whole step, op by op: levels 3 and 4 of the planner. */
export async function planStep(
  trace: Trace,
  options: PlanOptions,
  name: string,
  io: ConsoleIo,
  progress: Progress,
): Promise<StepAnswer> {
  const { timeMs, iterations, seed, paretoPoints, budget, workers } = options;
  progress.show(`planning ${name}`, true);
  const { found, isInterrupted } = await interruptible(io, (signal) =>
    planCheckpointing(trace, {
      ...goalOf(options),
      ...(timeMs !== undefined && { timeMs }),
      ...(iterations !== undefined && { iterations }),
      seed,
      paretoPoints,
      ...(workers !== undefined && { workers }),
      signal,
      onProgress: showProgress(progress, name, plainMs(trace)),
    }),
  );
  const notes = isInterrupted ? ["interrupted: this is the best found until then"] : [];
  const { point, front } = chosen(found, options, notes);
  if (point === undefined) {
    if (found.infeasible === undefined)
      throw new RematError("PLANNER_BUG", `${name}: neither a plan nor why there is none`);
    const budgetBytes = budget === undefined ? 0 : bytesOfBudget(budget, found.recordedPeakBytes);
    const infeasible = {
      name,
      budgetBytes,
      ...found.infeasible,
      occurrence: formatOccurrence(found.infeasible.occurrence),
    };
    if (isInterrupted && infeasible.lowerBoundBytes <= budgetBytes) throw interruptedEarly(infeasible);
    return { infeasible };
  }
  return { plan: point.plan, notes, ...(front && { front }) };
}

/** Plans what early release alone gives: every op once, everything freed after its last use. */
export async function earlyReleasePlan(trace: Trace): Promise<Plan> {
  const graph = planningGraphOfTrace(trace);
  const budgetBytes = Math.max(1, heldPeak(trace).peakBytes);
  return planOfTrace(trace, graph, await rematerialize(graph, { budgetBytes, iterations: 0, boundTimeMs: 0 }));
}

export function bytesOfBudget(budget: Budget, referenceBytes: number): number {
  return "bytes" in budget ? budget.bytes : budget.fraction * referenceBytes;
}

function goalOf({ budget, maxOverhead }: PlanOptions): CheckpointingGoal {
  if (budget !== undefined)
    return "bytes" in budget ? { budgetBytes: budget.bytes } : { budgetFraction: budget.fraction };
  return maxOverhead !== undefined ? { maxOverhead } : { budgetFraction: 1 };
}

function plainMs({ ops }: Trace): number {
  let sum = 0;
  for (const ms of ops.runtimeMs) if (ms > 0) sum += ms;
  return sum;
}

/** Adds to `notes` what was assumed. */
function chosen(
  { point, front, recommended }: CheckpointingAnswer,
  { budget, maxOverhead }: PlanOptions,
  notes: string[],
): { readonly point: CheckpointingPoint | undefined; readonly front?: PlanFront } {
  if (recommended === undefined) return { point };
  const { noCost, within5Percent, within20Percent } = recommended;
  const isGiven = budget !== undefined || maxOverhead !== undefined;
  if (!isGiven) notes.push("no budget was given: the plan is the one recommended for at most 5 % overhead");
  return {
    point: isGiven ? point : within5Percent,
    front: {
      points: front.map(frontPoint),
      recommended: {
        noCost: frontPoint(noCost),
        within5Percent: frontPoint(within5Percent),
        within20Percent: frontPoint(within20Percent),
      },
    },
  };
}

function frontPoint({ budgetBytes, peakBytes, stepMs, overhead, plan }: CheckpointingPoint): FrontPoint {
  const { lowerBound, gap } = plan.predicted;
  return { budgetBytes, peakBytes, cost: stepMs, overhead, lowerBound, gap };
}
