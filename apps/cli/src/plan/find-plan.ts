import { bytesOfBudget } from "@remat/memory";
import type { CheckpointingPoint } from "@remat/planner";
import type { MethodPlan, MethodRequest, MethodTable, PlanMethod } from "@remat/planner/methods";
import { planCheckpointing } from "@remat/planner/node";
import { formatBytes, formatMs, formatPercent } from "@remat/reporting";
import { type FrontPoint, type InfeasibleBudget, type PlanFront, type PlanSection } from "@remat/reporting/documents";
import { stepMs } from "@remat/runtime-estimator";
import { formatOccurrence, type Trace } from "@remat/trace";
import type { ConsoleIo } from "../console-io.js";
import type { Progress } from "../progress.js";
import { interruptible } from "./interruptible.js";
import type { PlanOptions } from "./plan-options.js";
import { interruptedEarly } from "./refuse.js";
import type { FoundPlan } from "./show-plan.js";
import { showProgress } from "./show-progress.js";

/** Plans a training step by the requested method. */
export async function findPlan(
  trace: Trace,
  options: PlanOptions,
  name: string,
  io: ConsoleIo,
  progress: Progress,
): Promise<FoundPlan | { readonly infeasible: InfeasibleBudget }> {
  const { method, budget } = options;
  progress.show(`planning ${name}`, true);
  const { found, isInterrupted } = await interruptible(io, (signal) =>
    method.plan(trace, {
      ...requestOf(options),
      signal,
      onProgress: showProgress(progress, name, stepMs(trace)),
    }),
  );
  if (!("infeasible" in found)) return foundPlan(found, method, isInterrupted);
  const infeasible = {
    name,
    budgetBytes: budget === undefined ? 0 : bytesOfBudget(budget, found.recordedPeakBytes),
    ...found.infeasible,
    occurrence: formatOccurrence(found.infeasible.occurrence),
  };
  if (isInterrupted && infeasible.lowerBoundBytes <= infeasible.budgetBytes) throw interruptedEarly(infeasible);
  return { infeasible };
}

function requestOf(options: PlanOptions): MethodRequest {
  const { budget, maxOverhead, timeMs, iterations, seed, paretoPoints, workers, modules, worldSize, fsdpUnits } =
    options;
  const { linkBytesPerSecond, checkpoint } = options;
  return {
    budget,
    maxOverhead,
    timeMs,
    iterations,
    seed,
    paretoPoints,
    modules,
    worldSize,
    fsdpUnits,
    linkBytesPerSecond,
    checkpoint,
    planCheckpointing: (of, asked) => planCheckpointing(of, { ...asked, workers }),
  };
}

function foundPlan(
  { plan, trace, notes, tables, checkpointed, front }: MethodPlan,
  { budgetOf, name }: PlanMethod,
  isInterrupted: boolean,
): FoundPlan {
  const isAbove = budgetOf === "step" && plan.predicted.peakBytes > plan.origin.budgetBytes;
  return {
    plan,
    trace,
    notes: [
      ...(isInterrupted ? ["interrupted: this is the best plan found so far"] : []),
      ...notes,
      ...(isAbove ? [`the simulated peak exceeds the budget: ${name} found no plan within it`] : []),
    ],
    sections: tables.map(sectionOf),
    isByModule: budgetOf === "module",
    checkpointed,
    front: front?.recommended && frontOf(front.front, front.recommended),
  };
}

const formats = {
  text: String,
  count: String,
  bytes: (value: string | number) => formatBytes(Number(value)),
  ms: (value: string | number) => formatMs(Number(value)),
  share: (value: string | number) => formatPercent(Number(value)),
} as const;

function sectionOf({ name, data, title, columns, rows, remark }: MethodTable): PlanSection {
  return {
    name,
    data,
    title,
    headers: columns.map(([header]) => header),
    rows: rows.map((cells) => cells.map((cell, i) => (cell === undefined ? "" : formats[columns[i][1]](cell)))),
    remark,
  };
}

function frontOf(
  front: readonly CheckpointingPoint[],
  { noCost, within5Percent, within20Percent }: NonNullable<NonNullable<MethodPlan["front"]>["recommended"]>,
): PlanFront {
  return {
    points: front.map(frontPoint),
    recommended: {
      noCost: frontPoint(noCost),
      within5Percent: frontPoint(within5Percent),
      within20Percent: frontPoint(within20Percent),
    },
  };
}

function frontPoint({ budgetBytes, peakBytes, stepMs, overhead, plan }: CheckpointingPoint): FrontPoint {
  const { lowerBound, gap } = plan.predicted;
  return { budgetBytes, peakBytes, cost: stepMs, overhead, lowerBound, gap };
}
