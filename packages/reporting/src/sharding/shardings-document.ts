import { receivedBytes, type ShardingComparison, type ShardingOutcome, type StepTime } from "@remat/sharding/compare";
import type { CategoryName, Trace } from "@remat/trace";
import { formatPercent } from "../format-quantity.js";
import type { DocumentPart, OutputDocument } from "../formats/output-document.js";
import { type SizeFormat, type SizeUnit, sizeFormat } from "../size-unit.js";
import { describeEstimate, estimateError, isEstimated, type TimeFormat, timeFormat } from "../time-quality.js";
import { drawLanes } from "./draw-lanes.js";

const columns: readonly (readonly [header: string, categories: readonly CategoryName[], worth: number])[] = [
  ["Parameters", ["parameter", "shardedParameter", "unshardedParameter"], 5],
  ["Gradients", ["gradient", "shardedGradient", "unshardedGradient"], 4],
  ["Optimizer", ["optimizerState"], 3],
  ["Activations", ["activation", "temporary"], 6],
  ["Buffers", ["allGather", "reduceScatter"], 2],
];

/** Options of {@link shardingsDocument}. */
export interface ShardingsDocumentOptions {
  /** The step that the plans are for. */
  readonly trace: Trace;
  /** The device that times are estimated for. */
  readonly pricedFor: string;
  readonly units?: SizeUnit | undefined;
}

/**
 * Returns a comparison of sharding plans: a row for each, the difference from the first, and the best plan. The records
 * are the same rows in bytes.
 */
export function shardingsDocument(
  comparison: ShardingComparison,
  { trace, pricedFor, units = "auto" }: ShardingsDocumentOptions,
): OutputDocument {
  const { model, outcomes, memoryBytes, best, reason } = comparison;
  const size = sizeFormat(units);
  const format = timeFormat(trace);
  const [, first] = outcomes;
  const isTimed = outcomes.some(({ time }) => time !== undefined);
  const hasRanks = outcomes.some(({ plan }) => plan !== undefined);
  const timeOf = ({ plan, time }: ShardingOutcome): readonly string[] => [
    time === undefined ? "" : format(time.stepMs),
    ...(hasRanks ? [plan === undefined || time === undefined ? "" : format(time.exposedMs)] : []),
  ];
  const hasOffload = outcomes.some(({ plan }) => plan?.cpuOffload === true);
  const fits = (peakBytes: number): readonly string[] =>
    memoryBytes === undefined ? [] : [peakBytes <= memoryBytes ? "yes" : "no"];
  return {
    parts: () => [
      {
        kind: "text",
        lines: [
          hasRanks
            ? `${model}: peak memory and communication of one rank per step`
            : `${model}: peak memory of a step on one device`,
          `best: ${best.name} (${reason}): ${size(best.peakBytes)}${received(best, size)}${best.time === undefined ? "" : `, ${format(best.time.stepMs)} per step`}`,
          ...(isTimed && isEstimated(trace) ? [`Times are ${describeEstimate(pricedFor, estimateError(trace))}.`] : []),
        ],
      },
      {
        kind: "table",
        headers: [
          "Plan",
          "Peak",
          "Vs. first",
          ...(memoryBytes === undefined ? [] : ["Fits"]),
          ...(isTimed ? ["Step", ...(hasRanks ? ["Exposed"] : [])] : []),
          ...(hasRanks ? ["Communication"] : []),
          ...columns.map(([header]) => header),
          ...(hasOffload ? ["Other devices"] : []),
        ],
        worth: [
          12,
          11,
          9,
          ...(memoryBytes === undefined ? [] : [10]),
          ...(isTimed ? [9, ...(hasRanks ? [8] : [])] : []),
          ...(hasRanks ? [8] : []),
          ...columns.map(([, , worth]) => worth),
          ...(hasOffload ? [1] : []),
        ],
        rows: outcomes.map((outcome) => [
          outcome.name,
          size(outcome.peakBytes),
          outcome === outcomes[0] || outcome === first ? "" : difference(outcome.peakBytes / first.peakBytes - 1),
          ...fits(outcome.peakBytes),
          ...(isTimed ? timeOf(outcome) : []),
          ...(hasRanks ? [outcome.plan === undefined ? "" : size(receivedBytes(outcome.communication))] : []),
          ...columns.map(([, categories]) => size(held(outcome, categories))),
          ...(hasOffload ? [outcome.plan?.cpuOffload === true ? heldBeside(outcome, size) : ""] : []),
        ]),
      },
      ...lanesOf(best, format),
      ...notesOf(outcomes),
    ],
    records: () => ({
      columns: [
        "plan",
        "peakBytes",
        "fits",
        "stepMs",
        "exposedMs",
        "allGatherBytes",
        "reduceScatterBytes",
        "allReduceBytes",
      ],
      rows: outcomes.map(({ name, peakBytes, communication, time }) => [
        name,
        peakBytes,
        memoryBytes === undefined ? "" : String(peakBytes <= memoryBytes),
        time?.stepMs ?? "",
        time?.exposedMs ?? "",
        communication.allGatherBytes,
        communication.reduceScatterBytes,
        communication.allReduceBytes,
      ]),
    }),
    value: () => ({
      model,
      memoryBytes: memoryBytes ?? null,
      best: best.name,
      reason,
      plans: outcomes.map(({ elsewhere, time, ...outcome }) => ({
        ...outcome,
        elsewhere: Object.fromEntries(elsewhere),
        time: time === undefined ? null : timeValue(time),
      })),
    }),
  };
}

/**
 * Returns the assumptions about plans, each once. If an assumption does not apply to all plans, it is shown with the
 * names of the plans to which it applies.
 */
function notesOf(outcomes: readonly ShardingOutcome[]): readonly DocumentPart[] {
  const plans = outcomes.filter(({ plan }) => plan !== undefined);
  const notes = new Set(plans.flatMap(({ assumptions }) => assumptions));
  if (notes.size === 0) return [];
  const lines = [...notes].map((note) => {
    const of = plans.filter(({ assumptions }) => assumptions.includes(note));
    return of.length === plans.length ? `note: ${note}` : `note for ${of.map(({ name }) => name).join("; ")}: ${note}`;
  });
  return [{ kind: "text", lines }];
}

/** Returns the largest exposed communication of the best plan, and its streams. */
function lanesOf({ name, time }: ShardingOutcome, format: TimeFormat): readonly DocumentPart[] {
  if (time?.schedule === undefined) return [];
  const { schedule, groups } = time;
  const waits = schedule.groups
    .map(({ exposedMs }, group) => ({ exposedMs, name: groups[group] }))
    .filter(({ exposedMs }) => exposedMs > 0)
    .sort((a, b) => b.exposedMs - a.exposedMs)
    .slice(0, 3)
    .map((each) => `${each.name} ${format(each.exposedMs)}`);
  const waited = waits.length === 0 ? "no exposed communication" : `most exposed: ${waits.join(", ")}`;
  return [{ kind: "text", lines: [`${name}, by stream (· is waiting); ${waited}`, ...drawLanes(schedule, 60)] }];
}

function timeValue({ schedule, groups, ...time }: StepTime) {
  const units = schedule?.groups.map((cost, group) => ({ modules: groups[group], ...cost })) ?? [];
  return { ...time, units };
}

function received({ plan, communication }: ShardingOutcome, size: SizeFormat): string {
  return plan === undefined ? "" : `, ${size(receivedBytes(communication))} of communication`;
}

function heldBeside({ elsewhere }: ShardingOutcome, size: SizeFormat): string {
  return [...elsewhere].map(([device, bytes]) => `${size(bytes)} on ${device}`).join(", ");
}

function held({ bytesByCategory }: ShardingOutcome, categories: readonly CategoryName[]): number {
  return categories.reduce((sum, category) => sum + (bytesByCategory[category] ?? 0), 0);
}

function difference(share: number): string {
  const text = formatPercent(Math.abs(share));
  if (text === formatPercent(0)) return text;
  return `${share > 0 ? "+" : "−"}${text}`;
}
