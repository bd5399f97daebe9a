import { planCheckpointing } from "@remat/planner";
import { readPlan, type Trace, writePlan } from "@remat/trace";
import { followPlan } from "../../../../packages/planner/test/plan/follow-plan.js";

/**
 * Plans a trace, and follows each plan as an executor would, independently of the planner. Its memory must be as
 * predicted and within the budget, and a smaller budget must never cost less time. Returns any difference, or
 * undefined.
 */
export async function checkTracePlans(trace: Trace, budgetFraction: number, seed: number): Promise<string | undefined> {
  if (!trace.ops.runtimeMs.some((ms) => ms > 0)) return undefined;
  const { point, front } = await planCheckpointing(trace, {
    budgetFraction,
    paretoPoints: 4,
    iterations: 1000,
    boundTimeMs: 0,
    seed,
  });
  const points = [...front, ...(point === undefined ? [] : [point])].sort(
    (a, b) => b.budgetBytes - a.budgetBytes || a.stepMs - b.stepMs,
  );
  for (const [i, { budgetBytes, peakBytes, stepMs, plan }] of points.entries()) {
    if (peakBytes > budgetBytes) return `${peakBytes} bytes are not within ${budgetBytes}`;
    const followed = followPlan(trace, readPlan(writePlan(plan)));
    if (followed !== peakBytes) return `a plan for ${budgetBytes} bytes holds ${followed}, predicted were ${peakBytes}`;
    if (i > 0 && stepMs < points[i - 1].stepMs)
      return `${budgetBytes} bytes cost ${stepMs} ms, ${points[i - 1].budgetBytes} cost ${points[i - 1].stepMs}`;
  }
  return undefined;
}
