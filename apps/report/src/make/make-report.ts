import { heldPeak } from "@remat/memory";
import { isEstimated, matchOps, viewEnvironment, viewSummary, type WhatIfRow } from "@remat/reporting";
import {
  type Answer,
  answerFollowing,
  answerOutcome,
  answerPlan,
  leadWith,
  type PlanCommand,
} from "@remat/reporting/answers";
import { leaksFacts, leaksRows, summarizeLeaks } from "@remat/reporting/documents";
import type { DeviceToFit, Verdict } from "@remat/reporting/verdict";
import type { ShardingPlan } from "@remat/sharding";
import { type DeviceSpec, describePlanMismatch, findPlanMismatch, type Plan, type Trace } from "@remat/trace";
import type { ReportData } from "../data/report-file.js";
import type { Comparison, FsdpFindings, LeakFindings, ReportMeta } from "../data/report-meta.js";
import { answerPeak } from "./answer-peak.js";
import { compareRuns } from "./compare-runs.js";
import type { DrawnOverlay } from "./drawn-overlay.js";
import { type FindPlansOptions, findPlans, followedPlan } from "./find-plans.js";
import { givenPlan } from "./given-plan.js";
import { simulateRank } from "./simulate-rank.js";

/** Options of {@link makeReport}. */
export interface MakeReportOptions {
  /** Heading of the report. */
  readonly title: string;
  /** The kind of input that it is made from: `model`, `trace` (the default) or `plan`. */
  readonly from?: ReportMeta["from"];
  /** The device that op times were estimated for. */
  readonly pricedFor?: DeviceSpec | undefined;
  /** Verdict on whether the step fits, and what to do next. */
  readonly verdict?: Verdict | undefined;
  /** How many of the largest storages at the peak to list (12 by default). */
  readonly limit?: number;
  /** The tool that makes the report, such as `remat 1.0.0`. */
  readonly madeBy?: string | undefined;
  /** The file or model that it is made from. */
  readonly source?: string | undefined;
  /** Search time for plans in milliseconds, or 0 for none. 8000 by default. */
  readonly planTimeMs?: number | undefined;
  /** Number of schedules to evaluate instead: gives the same answer on every machine. */
  readonly planIterations?: number | undefined;
  /** Replaces the sequential search: `planCheckpointing` of `@remat/planner/node`. */
  readonly planCheckpointing?: FindPlansOptions["planCheckpointing"];
  /** The step that plans are made for, if its ops differ from the run's. */
  readonly planned?: Trace | undefined;
  /** A plan for the run, to be drawn over its timeline. */
  readonly plan?: { readonly name: string; readonly plan: Plan } | undefined;
  /** Another run to compare with. */
  readonly compare?: { readonly name: string; readonly trace: Trace } | undefined;
  /** Also predict one of many ranks, under a sharding plan with that name. */
  readonly fsdp?: { readonly name: string; readonly plan: ShardingPlan } | undefined;
  /** The plan that the run was reconstructed from, if only a plan was given, and how to apply it. */
  readonly planAlone?:
    | {
        readonly name: string;
        readonly plan: Plan;
        readonly following?: PlanCommand | undefined;
        /** The device that the step has to fit on. */
        readonly device?: DeviceToFit;
      }
    | undefined;
  /**
   * Answers for another batch, optimizer, device and so on: `answerUsualWhatIfs` of `@remat/fit`. Left out: none. They
   * are awaited after the search for plans.
   */
  readonly whatIfs?: readonly WhatIfRow[] | PromiseLike<readonly WhatIfRow[]>;
  /** Called with the current stage, in words. During the search for plans it is called repeatedly. */
  readonly onProgress?: (what: string) => void;
}

/**
 * Collects the content of a report on a run: the run itself, its summary, plans for three budgets, the other run or
 * plan to compare with, and a rank.
 *
 * @throws RematError `REPORT_PLAN_MISMATCH` for a plan of another run; errors of the views and the simulation
 * @example
 * const html = renderReport(await makeReport(priceTrace(trace, device), { title: "resnet50", pricedFor: device }));
 */
export async function makeReport(trace: Trace, options: MakeReportOptions): Promise<ReportData> {
  const { title, onProgress } = options;
  onProgress?.("summing up");
  const summary = { ...viewSummary(trace, { limit: options.limit ?? 12 }), title };
  const timeMs = options.planTimeMs ?? 8000;
  onProgress?.("searching for plans");
  const found = await findPlans(trace, {
    timeMs,
    iterations: options.planIterations,
    planCheckpointing: options.planCheckpointing,
    planned: options.planned,
    onProgress: () => onProgress?.("searching for plans"),
  });
  const overlays: DrawnOverlay[] = [];
  const followed = (found.findings?.front ?? []).map((plan, i) => ({ plan, columns: found.followed[i] }));
  const outcomes: Answer[] = [];
  const { deviceMemoryBytes } = options.verdict ?? {};
  if (options.planAlone !== undefined) {
    const { following, device, ...planAlone } = options.planAlone;
    outcomes.push(
      answerPlan({ ...planAlone, unlistedBytes: heldPeak(trace).bytesByCategory.other, device }),
      ...(following === undefined ? [] : [answerFollowing(planAlone.plan, following)]),
    );
  }
  if (options.plan !== undefined) {
    const { memory, columns, overlay } = givenPlan(trace, options.plan, options.planned);
    followed.push({ plan: followedPlan(options.plan.name, options.plan.plan), columns });
    if (overlay !== undefined) overlays.push(overlay);
    const mismatch = findPlanMismatch(options.plan.plan, options.planned ?? trace);
    outcomes.push(
      answerPlan({
        ...options.plan,
        memory,
        // The step that is shown, which is the user's own.
        beforeBytes: summary.peak?.totalBytes,
        deviceMemoryBytes,
        mismatch: mismatch && describePlanMismatch(mismatch),
      }),
    );
  }
  const planned =
    options.planned === undefined || followed.length === 0
      ? undefined
      : { trace: options.planned, match: matchOps(trace, options.planned) };
  let comparison: Comparison | undefined;
  if (options.compare !== undefined) {
    onProgress?.("comparing");
    const compared = compareRuns(trace, title, options.compare);
    ({ comparison } = compared);
    if (compared.overlay !== undefined) overlays.push(compared.overlay);
  }
  let fsdp: FsdpFindings | undefined;
  if (options.fsdp !== undefined) {
    onProgress?.("simulating a rank");
    const { findings, overlay } = simulateRank(trace, options.fsdp);
    fsdp = findings;
    overlays.push(overlay);
    const { peakBytes, bytesByCategory, worldSize } = fsdp;
    outcomes.push(
      answerOutcome({
        question: `How much memory does one of ${worldSize} ranks use?`,
        peakBytes,
        bytesByCategory,
        beforeBytes: summary.peak?.totalBytes,
        deviceMemoryBytes,
        reasons: [`Simulated from this run, with ${options.fsdp.name}.`],
      }),
    );
  }
  const told =
    options.planAlone === undefined
      ? answerPeak(trace, options.verdict, found.findings)
      : { answers: [], heldRows: [] };
  return {
    meta: {
      title,
      from: options.from ?? "trace",
      summary,
      verdict: options.verdict,
      answers: leadWith(outcomes, told.answers),
      heldRows: told.heldRows,
      environment: viewEnvironment(trace, {
        pricedFor: options.pricedFor,
        madeBy: options.madeBy,
        source: options.source,
        planning: found.findings && describeSearch(options, found.findings.isForTorch),
      }),
      plans: found.findings,
      noPlans: found.reason,
      followed: followed.map(({ plan }) => plan),
      hasEstimatedTimes: isEstimated(trace),
      hasPlannedStep: planned !== undefined,
      comparison,
      fsdp,
      leaks: trace.header.mode === "real" ? findLeaks(trace) : undefined,
      overlays: overlays.map(({ overlay }) => overlay),
      whatIfs: (await options.whatIfs) ?? [],
    },
    trace,
    overlays: overlays.map(({ highestBytes }) => highestBytes),
    followed: followed.map(({ columns }) => columns),
    planned,
  };
}

function findLeaks(trace: Trace): LeakFindings {
  const summary = summarizeLeaks(trace);
  return { facts: leaksFacts(summary).facts, rows: leaksRows(summary) };
}

function describeSearch({ planTimeMs = 8000, planIterations }: MakeReportOptions, isForTorch: boolean): string {
  const effort = planIterations === undefined ? `${planTimeMs / 1000} s` : `${planIterations} iterations`;
  if (isForTorch)
    return `modules and parts of them for torch.utils.checkpoint, ${effort}, seed 0; every policy was simulated as PyTorch runs it`;
  return `simulated annealing over the whole step, ${effort}, seed 0; the peak of every plan was simulated exactly`;
}
