import { heldPeak, memoryTimeline, peakOp } from "@remat/memory";
import { accountSequence, holdPlan, sequenceGraphOfTrace } from "@remat/memory/sequence";
import { trackMemory } from "@remat/memory/tracker";
import { planCheckpointing } from "@remat/planner";
import { makeReport } from "@remat/report";
import { summarizeMemory, summarizePlan, viewSummary } from "@remat/reporting";
import { memorySummaryJson, planSummaryJson } from "@remat/reporting/documents";
import { judgeMemory } from "@remat/reporting/verdict";
import { deviceSpec } from "@remat/runtime-estimator";
import { EventKind, Phase, type Plan, type Trace } from "@remat/trace";
import { expect } from "vitest";
import { followPlan } from "../../../packages/planner/test/plan/follow-plan.js";
import { initialSettings } from "../../terminal/src/document/settings.js";
import { TraceDocument } from "../../terminal/src/document/trace-document.js";
import { unrecomputedPlan } from "../src/plan/unrecomputed-plan.js";

/** The most that is alive on the trace's device, from the definition: the sum over all storages after each event. */
export function peakByDefinition({ events, storages, strings, header }: Trace): number {
  const bytes = new Float64Array(storages.count);
  let held = 0;
  let peak = 0;
  for (let e = 0; e < events.count; e++) {
    const storage = events.subject[e];
    const kind = events.kind[e];
    const isMemory = kind === EventKind.allocate || kind === EventKind.resize || kind === EventKind.free;
    if (!isMemory || strings[storages.device[storage]] !== header.device) continue;
    const asked =
      kind === EventKind.allocate ? storages.bytes[storage] : kind === EventKind.resize ? events.value[e] : 0;
    const { allocationUnitBytes: unit } = header;
    // A size that is no whole number, as only damaged files have, stays as it is where nothing is rounded.
    const size = unit > 1 ? Math.ceil(asked / unit) * unit : asked;
    held += size - bytes[storage];
    bytes[storage] = size;
    peak = Math.max(peak, held);
  }
  return peak;
}

/** Holds each view of what `trace` holds as recorded against the definition. */
export function expectOnePeak(trace: Trace): number {
  const expected = peakByDefinition(trace);
  const { op } = heldPeak(trace);
  const timeline = memoryTimeline(trace);
  const tracker = trackMemory(trace, { forwardOnly: true });
  const summary = summarizeMemory(trace, { forwardOnly: true });
  const json = memorySummaryJson(summary, 1) as { readonly peakBytes: number };
  const report = reportOf(trace);
  const document = new TraceDocument({ title: "t" }, trace, {
    ...initialSettings(trace, { device: deviceSpec("a100"), isDeviceAsked: false }),
    allocationUnitBytes: trace.header.allocationUnitBytes,
  });
  expect({
    account: heldPeak(trace).peakBytes,
    timeline: timeline.peak.peakBytes,
    highest: timeline.highestBytes[peakOp(timeline)] ?? expected,
    tracker: tracker.peakBytes(),
    moment: tracker.peakMoment().totalBytes,
    memory: summary.peakBytes,
    memoryMoment: summary.moment.totalBytes,
    memoryJson: json.peakBytes,
    report: report === undefined ? expected : report.peak?.totalBytes,
    terminal: document.peak()?.totalBytes,
    terminalVerdict: document.verdict()?.peakBytes,
    verdict: judgeMemory(trace, { device: deviceSpec("a100") })?.peakBytes,
  }).toEqual(
    Object.fromEntries(
      "account timeline highest tracker moment memory memoryMoment memoryJson report terminal terminalVerdict verdict"
        .split(" ")
        .map((view) => [view, expected]),
    ),
  );
  // A device that never holds anything has no moment of its own.
  if (trace.ops.count > 0 && expected > 0)
    expect({
      timeline: peakOp(timeline),
      tracker: tracker.peakMoment().at?.op,
      report: report === undefined ? op : report.peak?.at?.op,
      terminal: document.peak()?.at?.op,
    }).toEqual({ timeline: op, tracker: op, report: op, terminal: op });
  return expected;
}

/** The first figures of a report. Undefined for a run on two accelerators, which reports reject. */
function reportOf(trace: Trace): ReturnType<typeof viewSummary> | undefined {
  try {
    return viewSummary(trace);
  } catch (error) {
    if ((error as { code?: string }).code !== "SAC_DEVICES") throw error;
    return undefined;
  }
}

/**
 * Plans `trace`, if it can be, and holds each view of the plans against each other, the budget, and an executor by definition. Returns how many ops
 * are recomputed; undefined where no plan was found.
 */
export async function expectOnePlannedPeak(
  trace: Trace,
  budgetFraction: number,
  iterations = 300,
): Promise<number | undefined> {
  const stock = peakByDefinition(trace);
  const { point, recordedPeakBytes } = await planCheckpointing(trace, {
    budgetFraction,
    iterations,
    boundTimeMs: 0,
  });
  expect(recordedPeakBytes).toBe(stock);
  const unrecomputed = await unrecomputedPlan(trace);
  // Without recomputation the peak never exceeds the original, so the planner's bound does not exceed it either.
  expect(unrecomputed.predicted.peakBytes).toBeLessThanOrEqual(stock);
  if (point === undefined) return undefined;
  const { plan, peakBytes, budgetBytes } = point;
  const summary = summarizePlan(plan, trace, { unrecomputed });
  const json = planSummaryJson(summary) as Record<"peakBytes" | "stockPeakBytes" | "unrecomputedPeakBytes", number>;
  const { meta, overlays, followed } = await makeReport(trace, {
    title: "t",
    planTimeMs: 0,
    plan: { name: "p", plan },
  });
  const held = holdPlan(trace, plan);
  expect({
    predicted: plan.predicted.peakBytes,
    held: held.peakBytes,
    highest: held.highestBytes.reduce((most, bytes) => Math.max(most, bytes), 0),
    categories: Object.values(held.bytesByCategory).reduce((sum, bytes) => sum + bytes, 0),
    summary: summary.points.at(-1)!.peakBytes,
    json: json.peakBytes,
    report: meta.followed.at(-1)?.peakBytes,
    // The page accounts for the order in which ops run; where that says another thing the report has a line.
    reportLine:
      overlays[0]?.reduce((most, bytes) => Math.max(most, bytes), 0) ??
      accountSequence(sequenceGraphOfTrace(trace), followed.at(-1)!.sequence)?.peakBytes,
    executor: simulate(trace, plan, peakBytes),
  }).toEqual(
    Object.fromEntries(
      "predicted held highest categories summary json report reportLine executor"
        .split(" ")
        .map((view) => [view, peakBytes]),
    ),
  );
  expect(peakBytes).toBeLessThanOrEqual(budgetBytes);
  expect([json.stockPeakBytes, summary.points[0].peakBytes, plan.predicted.recordedPeakBytes]).toEqual([
    stock,
    stock,
    stock,
  ]);
  expect(meta.summary.peak?.totalBytes).toBe(stock);
  expect(json.unrecomputedPeakBytes).toBe(holdPlan(trace, unrecomputed).peakBytes);
  expect(json.unrecomputedPeakBytes).toBe(plan.predicted.plain.peakBytes);
  return plan.steps.length - plan.ops.length;
}

/**
 * Peak of an executor that is independent of the planner. If passes are marked, the engine's lifetimes are included.
 */
function simulate(trace: Trace, plan: Plan, otherwise: number): number {
  const isMarked = trace.events.kind.subarray(0, trace.events.count).includes(EventKind.mark);
  const isResized = trace.events.kind.subarray(0, trace.events.count).includes(EventKind.resize);
  return isMarked || isResized ? otherwise : followPlan(trace, plan);
}

/** Returns whether a trace can be planned. */
export function isPlannable(trace: Trace): boolean {
  return trace.hasPhase(Phase.backward) && trace.ops.runtimeMs.some((ms) => ms > 0);
}
