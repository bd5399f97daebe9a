import { parseShardingPlan, simulateFsdp } from "@remat/mem-tracker/fsdp";
import { holdPlan, memoryTimeline, momentOfPeak, tellsLifetimes } from "@remat/memory";
import {
  compareView,
  formatPercent,
  leaksFacts,
  leaksRows,
  moduleTreeView,
  summarizeLeaks,
  type Verdict,
  viewEnvironment,
  viewSummary,
} from "@remat/reporting";
import { sacStats } from "@remat/sac-core";
import { type DeviceSpec, type Plan, RematError, RuntimeSource, type Trace } from "@remat/trace";
import type { ReportData } from "../data/report-file.js";
import type { Comparison, FsdpFindings, LeakFindings, Overlay, ReportMeta } from "../data/report-meta.js";
import { alignHighest } from "./align-runs.js";
import { findPlans } from "./find-plans.js";

export interface MakeReportOptions {
  readonly title: string;
  readonly from?: ReportMeta["from"];
  /** The device whose figures priced the ops. */
  readonly pricedFor?: DeviceSpec | undefined;
  /** Whether the step fits, and what to do next. */
  readonly verdict?: Verdict | undefined;
  /** How many of the largest storages at the peak to list; 12 if not given. */
  readonly limit?: number;
  readonly madeBy?: string | undefined;
  readonly source?: string | undefined;
  /** Milliseconds to look for plans; 0 for none. Left out: 8000. */
  readonly planTimeMs?: number;
  /** Look at so many schedules instead: the same answer on every machine. */
  readonly planIterations?: number;
  /** A plan for the run, to be shown over its timeline. */
  readonly plan?: { readonly name: string; readonly plan: Plan } | undefined;
  /** Another run beside it. */
  readonly compare?: { readonly name: string; readonly trace: Trace } | undefined;
  /** Also predict one rank of many: `world=8,wrap='layers.*',reshard`. */
  readonly fsdp?: string | undefined;
  readonly onProgress?: (what: string) => void;
}

/**
 * Collects all that a report tells of a run: the run itself, its summary, plans for three budgets, the other run or plan to compare with, a rank of many.
 *
 * @throws RematError `REPORT_PLAN_MISMATCH` for a plan of another run; what the views and the simulation throw
 * @example
 * const html = renderReport(await makeReport(priceTrace(trace, device), { title: "resnet50", pricedFor: device }));
 */
export async function makeReport(trace: Trace, options: MakeReportOptions): Promise<ReportData> {
  const { title, onProgress } = options;
  onProgress?.("summing up");
  const summary = { ...viewSummary(trace, { limit: options.limit ?? 12 }), title };
  const timeMs = options.planTimeMs ?? 8000;
  onProgress?.("looking for plans");
  const found = await findPlans(trace, {
    timeMs,
    ...(options.planIterations !== undefined && { iterations: options.planIterations }),
    onProgress: () => onProgress?.("looking for plans"),
  });
  const overlays: (readonly [Overlay, Float64Array])[] = [...found.overlays];
  if (options.plan !== undefined) overlays.push(givenPlan(trace, options.plan));
  let comparison: Comparison | undefined;
  if (options.compare !== undefined) {
    onProgress?.("comparing");
    comparison = compareRuns(trace, title, options.compare, overlays);
  }
  let fsdp: FsdpFindings | undefined;
  if (options.fsdp !== undefined) {
    onProgress?.("simulating a rank");
    fsdp = shard(trace, options.fsdp, overlays);
  }
  return {
    meta: {
      title,
      from: options.from ?? "trace",
      summary,
      verdict: options.verdict,
      environment: viewEnvironment(trace, {
        pricedFor: options.pricedFor,
        madeBy: options.madeBy,
        source: options.source,
        planning: found.findings && describeSearch(options),
      }),
      plans: found.findings,
      noPlans: found.reason,
      comparison,
      fsdp,
      leaks: trace.header.mode === "real" ? findLeaks(trace) : undefined,
      overlays: overlays.map(([overlay]) => overlay),
    },
    trace,
    overlays: overlays.map(([, highest]) => highest),
  };
}

function findLeaks(trace: Trace): LeakFindings {
  const summary = summarizeLeaks(trace);
  return { facts: leaksFacts(summary).facts, rows: leaksRows(summary) };
}

function describeSearch({ planTimeMs = 8000, planIterations }: MakeReportOptions): string {
  const effort = planIterations === undefined ? `${planTimeMs / 1000} s` : `${planIterations} iterations`;
  return `simulated annealing over the whole step for ${effort}, seed 0; every plan was simulated to the byte`;
}

function givenPlan(
  trace: Trace,
  { name, plan }: NonNullable<MakeReportOptions["plan"]>,
): readonly [Overlay, Float64Array] {
  if (plan.ops.length !== trace.ops.count || plan.subject.kind !== "trace")
    throw new RematError(
      "REPORT_PLAN_MISMATCH",
      `${name}: the plan is for ${plan.subject.kind === "trace" ? `a run of ${plan.ops.length} ops` : "a graph"}, the run has ${trace.ops.count}. Name the run that it was made for, with the same batch and loss.`,
    );
  return [
    {
      key: "plan",
      label: name,
      kind: "plan",
      peakBytes: plan.predicted.peakBytes,
      note: `predicted: ${formatPercent(plan.predicted.overhead)} more time than the plain step`,
    },
    holdPlan(trace, plan).highestBytes,
  ];
}

function compareRuns(
  trace: Trace,
  title: string,
  { name, trace: other }: NonNullable<MakeReportOptions["compare"]>,
  overlays: (readonly [Overlay, Float64Array])[],
): Comparison {
  const isMeasured = other.header.mode === "real" || other.ops.runtimeSource.includes(RuntimeSource.measured);
  const side = (run: Trace, called: string) => {
    const timeline = tellsLifetimes(run) ? memoryTimeline(run) : undefined;
    return {
      timeline,
      compared: {
        name: called,
        trace: run,
        modules: moduleTreeView(run, sacStats(run)),
        peak: timeline && momentOfPeak(run, timeline.peak, { limit: 5 }),
      },
    };
  };
  const mine = side(trace, title);
  const theirs = side(other, name);
  if (theirs.timeline !== undefined)
    overlays.push([
      {
        key: "compare",
        label: name,
        kind: isMeasured ? "measured" : "other",
        peakBytes: theirs.compared.peak?.totalBytes ?? 0,
        note: `${isMeasured ? "measured" : "another run"}: the most held at the matching ops`,
      },
      alignHighest(trace, other, theirs.timeline),
    ]);
  return { name, isMeasured, view: compareView(mine.compared, theirs.compared) };
}

function shard(trace: Trace, text: string, overlays: (readonly [Overlay, Float64Array])[]): FsdpFindings {
  const plan = parseShardingPlan(text);
  const { trace: rank } = simulateFsdp(trace, plan);
  const timeline = memoryTimeline(rank);
  const { peakBytes, bytesByCategory } = timeline.peak;
  overlays.push([
    {
      key: "fsdp",
      label: `FSDP, rank 0 of ${plan.worldSize}`,
      kind: "fsdp",
      peakBytes,
      note: "simulated from this run: the most held at the matching ops",
    },
    alignHighest(trace, rank, timeline),
  ]);
  return {
    plan: text,
    worldSize: plan.worldSize,
    peakBytes,
    bytesByCategory,
  };
}
