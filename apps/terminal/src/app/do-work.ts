import { accountCheckpoints, CheckpointableSteps } from "@remat/memory/checkpointing";
import { accountSequence, type SequenceAccount, sequenceGraphOfTrace, sequenceOfPlan } from "@remat/memory/sequence";
import { AlignedOps, checkpointFates, matchOps, planFates, planFrontier } from "@remat/reporting";
import { Phase, type Trace } from "@remat/trace";
import { rememberLast } from "../document/memoize.js";
import type { FoundPlan, PlanColumns } from "../document/step-plans.js";
import type { ViewAnswer, ViewWork, WhatIfWork } from "../state/work.js";
import { planWholeStep } from "./plan-whole-step.js";

export interface DoWorkOptions {
  /** Time limit for planning a step, in milliseconds. */
  readonly timeMs: number;
  /** Stops a search, which then returns its best result. */
  readonly signal: AbortSignal;
  readonly answer: (answer: ViewAnswer) => void;
}

/** Does long-running work of a view. Progress and results are passed to `answer`. */
export async function doWork(work: ViewWork, options: DoWorkOptions): Promise<void> {
  switch (work.kind) {
    case "planModule":
      return options.answer(await planModule(work));
    case "planWholeStep":
      return options.answer(await planWholeStep(work, options));
    case "planFront":
      return options.answer(await planFront(work, options));
    case "holdPlan":
      return options.answer(holdFoundPlan(work));
    case "usualWhatIfs":
    case "whatIf":
      return answerOfRuns(work, options);
  }
}

async function planModule({ stats, budgetBytes }: Extract<ViewWork, { kind: "planModule" }>): Promise<ViewAnswer> {
  try {
    const { planModule: plan } = await import("@remat/planner/module-policy");
    return { kind: "modulePlanned", stats, budgetBytes, policy: await plan(stats, { budgetBytes }) };
  } catch (error) {
    return { kind: "moduleNotPlanned", stats, budgetBytes, reason: (error as Error).message };
  }
}

/** For recorded runs: answers from their traces. */
async function answerOfRuns(work: WhatIfWork, { signal, answer }: DoWorkOptions): Promise<void> {
  const { trace, of } = work;
  const { answerUsualWhatIfs, answerWhatIf, stepsAtHand } = await import("@remat/fit");
  const { name, other, device, pricedFor } = of;
  const present = { trace, device, pricedFor, steps: stepsAtHand([{ name, trace }, ...(other ? [other] : [])]) };
  if (work.kind === "whatIf")
    return answer({ kind: "whatIfAnswered", trace, row: await answerWhatIf(present, work.question) });
  for await (const row of answerUsualWhatIfs(present)) {
    // Lets pending messages arrive.
    await new Promise((resolve) => setImmediate(resolve));
    if (signal.aborted) return;
    answer({ kind: "usualWhatIf", trace, row });
  }
  answer({ kind: "usualWhatIfsDone", trace });
}

/** Number of budgets to plan for. */
const frontPoints = 24;

const graphOf = rememberLast((trace: Trace) => sequenceGraphOfTrace(trace));

/** Maps ops of the step that plans run to those that are shown, or undefined if they are the same. */
const alignedOf = rememberLast((trace: Trace, planned: Trace): AlignedOps | undefined =>
  planned === trace ? undefined : new AlignedOps(matchOps(trace, planned), planned.ops.count),
);

const stepsOf = rememberLast((trace: Trace) => new CheckpointableSteps(trace));

/** Searches for policies for PyTorch. */
async function torchPlans(
  trace: Trace,
  effort: Pick<DoWorkOptions, "timeMs" | "signal">,
): Promise<readonly FoundPlan[]> {
  const { torchFront } = await import("@remat/planner/executors");
  const plans = torchFront(trace, { ...effort, points: frontPoints }).map(
    ({ policy, peakBytes, stepMs, overhead, recomputations }): FoundPlan => ({
      ...{ peakBytes, stepMs, overhead, gap: undefined, policy },
      fates: checkpointFates(trace, recomputations),
    }),
  );
  return planFrontier(plans);
}

/** Plans the whole step for many budgets. */
async function planFront(
  { trace, planned = trace }: Extract<ViewWork, { kind: "planFront" }>,
  { timeMs, signal, answer }: DoWorkOptions,
): Promise<ViewAnswer> {
  const none = (reason: string): ViewAnswer => ({ kind: "frontFound", trace, plans: [], reason });
  if (!trace.hasPhase(Phase.backward)) return none("The trace has no backward pass, so there is no step to plan.");
  try {
    const { planCheckpointing } = await import("@remat/planner");
    const { executorOf, torchCheckpointExecutor } = await import("@remat/planner/executors");
    if (executorOf(trace) === torchCheckpointExecutor) {
      answer({ kind: "frontProgress", trace, text: "searching for modules to checkpoint" });
      const plans = await torchPlans(trace, { timeMs, signal });
      return { kind: "frontFound", trace, plans, reason: undefined };
    }
    const { front, recommended } = await planCheckpointing(planned, {
      budgetFraction: 1,
      paretoPoints: frontPoints,
      boundTimeMs: 0,
      timeMs,
      signal,
      onProgress: ({ elapsedMs }) =>
        answer({ kind: "frontProgress", trace, text: `searching for plans, ${(elapsedMs / 1000).toFixed(1)} s` }),
    });
    const all = [...front, ...Object.values(recommended ?? {})].map(({ plan, ...point }) => ({
      ...point,
      gap: plan.predicted.gap,
      plan,
    }));
    const graph = graphOf(planned);
    const aligned = alignedOf(trace, planned);
    const plans = planFrontier(all).map(({ peakBytes, stepMs, overhead, gap, plan }): FoundPlan => {
      const fates = planFates(planned, plan);
      return {
        ...{ peakBytes, stepMs, overhead, gap },
        sequence: sequenceOfPlan(plan, graph).nodes,
        fates: aligned?.carryFates(fates) ?? fates,
      };
    });
    return { kind: "frontFound", trace, plans, reason: undefined };
  } catch (error) {
    return none((error as Error).message);
  }
}

/** Computes the step's memory under a plan that was found. */
function holdFoundPlan({ trace, planned = trace, plan }: Extract<ViewWork, { kind: "holdPlan" }>): ViewAnswer {
  const { policy, sequence } = plan;
  const account =
    policy === undefined
      ? sequence && accountSequence(graphOf(planned), sequence)
      : accountCheckpoints(stepsOf(trace), policy);
  const memory = account && (alignedOf(trace, planned)?.carry(account) ?? columnsOf(account));
  return { kind: "planHeld", trace, peakBytes: plan.peakBytes, memory };
}

function columnsOf({
  count,
  totalBytes,
  highestBytes,
  bytesByCategory,
  peakOp,
  recomputations,
}: SequenceAccount): PlanColumns {
  return { count, totalBytes, highestBytes, bytesByCategory, peakOp, recomputations };
}
