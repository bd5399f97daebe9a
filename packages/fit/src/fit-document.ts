import {
  estimatedDigits,
  formatCount,
  formatEstimatedMs,
  formatMs,
  formatOverhead,
  formatWholePercent,
  labelCategory,
  type SizeFormat,
  type SizeUnit,
  sizeFormat,
} from "@remat/reporting";
import { type DocumentPart, type OutputDocument } from "@remat/reporting/formats";
import type { BatchRange, FitConfiguration, FitObjective, NotFitting } from "./fit-unit.js";
import type { FitSummary, RankedRow } from "./summarize-fit.js";

/** Options of {@link fitDocument}. */
export interface FitDocumentOptions {
  readonly units?: SizeUnit;
  /** The source of the times, such as `roofline of each device` or `measured`. */
  readonly pricedBy: string;
  /** Additional notes, such as how recorded runs were scaled. */
  readonly notes?: readonly string[];
  /** True if the search is still running, so that the results are preliminary. */
  readonly goesOn?: boolean;
  /** The command to run next for the best row. */
  readonly command?: string | undefined;
}

/** The criterion for the best row, if it is not speed. */
const aims: Readonly<Record<FitObjective, string>> = {
  throughput: "",
  cost: "; best means least cost",
  memory: "; best means least memory",
  batch: "; best means largest batch",
};

/** Describes a search in which nothing fits. Configurations that were rejected or not examined may still fit. */
function describeNothing({ notFitting, refused, left }: FitSummary): string {
  if (notFitting.length > 0) return "no configuration that fits was found";
  return refused.length > 0 && left === 0
    ? "none of the requested configurations is supported"
    : "nothing was found yet";
}

/**
 * Returns a document with the results of a search. It has a sentence about the best row, a row for each configuration
 * that fits, and the reasons why others do not fit. Its records are the rows, in bytes.
 */
export function fitDocument(
  summary: FitSummary,
  { units = "auto", pricedBy, notes = [], goesOn = false, command }: FitDocumentOptions,
): OutputDocument {
  const size = sizeFormat(units);
  const { model, best, rows, notFitting, refused, left } = summary;
  return {
    parts: () => [
      {
        kind: "text",
        lines: [
          `${model}: ${best === undefined ? describeNothing(summary) : `best of ${rows.length + notFitting.length} configurations: ${describeBest(best, summary, size)}`}`,
          ...describeUnproven(summary),
          ...describeEnd(summary),
          ...(command === undefined ? [] : [command]),
          `times: ${pricedBy}${aims[summary.objective]}`,
          ...(left === 0
            ? []
            : [
                goesOn
                  ? `${left} configurations are left`
                  : `interrupted: this is the best so far, and ${left} configurations were not tried`,
              ]),
          ...notes,
        ],
      },
      ...(rows.length === 0 ? [] : [fittingTable(summary, size)]),
      ...(notFitting.length === 0 ? [] : [notFittingTable(summary, size)]),
      ...(refused.length === 0 ? [] : [refusedTable(summary)]),
    ],
    records: () => ({
      columns: [
        "device",
        "optimizer",
        "precision",
        "way",
        "ranks",
        "wrap",
        "batch",
        "microBatches",
        "peakBytes",
        "memoryBytes",
        "stepMs",
        "samplesPerSecond",
        "overhead",
        "gap",
        "costPerMillion",
        "isOnFront",
      ],
      rows: rows.map(({ configuration: { device, optimizer, precision, way, ranks, wrap }, ...row }) => [
        device,
        optimizer ?? "",
        precision,
        way,
        ranks,
        wrap?.join("+") ?? "",
        row.batch,
        row.microBatches,
        row.peakBytes,
        row.memoryBytes,
        row.stepMs ?? "",
        row.samplesPerSecond ?? "",
        row.overhead,
        row.gap ?? "",
        row.costPerMillion ?? "",
        String(row.isOnFront),
      ]),
    }),
    value: () => ({ ...summary, best: best ?? null, pricedBy, notes, command: command ?? null }),
  };
}

/** Returns a configuration in words. */
export function describeConfiguration({ device, optimizer, precision, way, ranks, wrap }: FitConfiguration): string {
  return [
    device,
    ...(optimizer === undefined ? [] : [optimizer]),
    ...(precision === "f32" ? [] : [precision]),
    way,
    ...(ranks === 1 ? [] : [`${ranks} ranks`]),
    ...(wrap === undefined ? [] : [`wrap ${wrap.join("+") || "the root"}`]),
  ].join(", ");
}

/** Returns the batch, memory and speed of a row in words. */
export function describeBest(
  row: RankedRow,
  summary: Pick<FitSummary, "timesAre">,
  size: SizeFormat = sizeFormat("auto"),
): string {
  const { configuration, batch, microBatches, peakBytes, memoryBytes, stepMs, samplesPerSecond, costPerMillion } = row;
  const { libraryBytes } = row;
  return [
    `batch ${batch}${microBatches === 1 ? "" : ` × ${microBatches}`} on ${describeConfiguration(configuration)}: ${size(peakBytes)} of ${size(memoryBytes)}${libraryBytes === undefined ? "" : `, plus ${size(libraryBytes)} for kernel libraries`}`,
    ...(stepMs === undefined ? [] : [`${formatStepMs(stepMs, summary)} per step`]),
    ...(samplesPerSecond === undefined ? [] : [`${formatRate(samplesPerSecond, summary)} samples/s`]),
    ...(costPerMillion === undefined ? [] : [`${formatRate(costPerMillion, summary)} per million samples`]),
  ].join(", ");
}

function fittingTable(summary: FitSummary, size: SizeFormat): DocumentPart {
  const { rows } = summary;
  const has = (test: (row: RankedRow) => boolean): boolean => rows.some(test);
  const columns: readonly (readonly [
    header: string,
    worth: number,
    shown: boolean,
    cell: (row: RankedRow) => string,
  ])[] = [
    ["Configuration", 12, true, ({ configuration }) => describeConfiguration(configuration)],
    ["Batch", 11, true, ({ batch }) => String(batch)],
    ["Passes", 5, has(({ microBatches }) => microBatches > 1), ({ microBatches }) => String(microBatches)],
    ["Peak", 10, true, ({ peakBytes }) => size(peakBytes)],
    ["Memory", 7, true, ({ memoryShare }) => formatWholePercent(memoryShare)],
    ["Step", 8, true, ({ stepMs }) => (stepMs === undefined ? "" : formatStepMs(stepMs, summary))],
    [
      "Samples/s",
      9,
      true,
      ({ samplesPerSecond }) => (samplesPerSecond === undefined ? "" : formatRate(samplesPerSecond, summary)),
    ],
    ["Overhead", 4, has(({ overhead }) => overhead > 0), ({ overhead }) => formatOverhead(overhead)],
    [
      "Optimality gap",
      2,
      has(({ gap }) => (gap ?? 0) > 0),
      ({ gap }) => (gap === undefined ? "" : formatOverhead(gap)),
    ],
    [
      "Per million",
      6,
      has(({ costPerMillion }) => costPerMillion !== undefined),
      ({ costPerMillion }) => (costPerMillion === undefined ? "" : formatRate(costPerMillion, summary)),
    ],
    ["Front", 3, true, ({ isOnFront }) => (isOnFront ? "yes" : "")],
    [
      "Next",
      1,
      has(({ next, endsRange }) => next !== undefined || endsRange === true),
      ({ next, endsRange }) => (endsRange ? lastAsked : next === undefined ? "" : describeNext(next, size)),
    ],
  ];
  const shown = columns.filter(([, , isShown]) => isShown);
  return {
    kind: "table",
    headers: shown.map(([header]) => header),
    worth: shown.map(([, worth]) => worth),
    rows: rows.map((row) => shown.map(([, , , cell]) => cell(row))),
    remark: [
      "Front: on the Pareto front of memory, speed and price. Next: the next larger batch that was tried, and what uses most of its memory.",
      ...(has(({ next }) => next?.unproven !== undefined) ? ["Not proven: no plan was found, but one may exist."] : []),
    ].join(" "),
  };
}

function notFittingTable({ notFitting }: FitSummary, size: SizeFormat): DocumentPart {
  return {
    kind: "table",
    title: "Configurations that do not fit",
    headers: ["Configuration", "Batch", "Lowest peak", "Memory", "Bottleneck", "Proven"],
    rows: notFitting.map(({ configuration, memoryBytes, smallest }) => [
      describeConfiguration(configuration),
      String(smallest.batch),
      size(smallest.peakBytes),
      size(memoryBytes),
      smallest.binds === "time" ? "takes too long" : `${labelCategory(smallest.binds)} ${size(smallest.bindsBytes)}`,
      smallest.unproven === undefined ? "yes" : `not for ${describeRange(smallest.unproven)}`,
    ]),
  };
}

function refusedTable({ refused }: FitSummary): DocumentPart {
  return {
    kind: "table",
    title: "Not supported",
    headers: ["Configuration", "Reason"],
    wraps: "Reason",
    rows: refused.map(({ configuration, reason }) => [describeConfiguration(configuration), reason]),
  };
}

/** Returns the reason why a batch does not fit, in words, and the batches for which that is not proven. */
export function describeNext(
  { batch, peakBytes, libraryBytes, binds, bindsBytes, unproven }: NotFitting,
  size: SizeFormat = sizeFormat("auto"),
): string {
  const why =
    binds === "time"
      ? "takes too long"
      : `${size(peakBytes)}${libraryBytes === undefined ? "" : ` plus ${size(libraryBytes)}`}, ${labelCategory(binds).toLowerCase()} ${size(bindsBytes)}`;
  return `${batch}: ${why}${unproven === undefined ? "" : `; ${describeRange(unproven)} not proven`}`;
}

function describeRange({ from, to }: BatchRange): string {
  return from === to ? String(from) : `${from} to ${to}`;
}

/**
 * Returns a note on the batches that may fit without a known plan, if the largest batch is the objective or nothing was
 * found.
 */
function describeUnproven({ objective, best, notFitting }: FitSummary): readonly string[] {
  if (best === undefined)
    return notFitting.some(({ smallest }) => smallest.unproven !== undefined)
      ? [`not proven: no plan was found for some, ${notProven}`]
      : [];
  const unproven = objective === "batch" ? best.next?.unproven : undefined;
  return unproven === undefined
    ? []
    : [`not proven: no plan was found for ${describeRange(unproven)} samples, ${notProven}`];
}

/** Returns a note if the best batch is the last in the range, because a larger batch may also fit. */
function describeEnd({ objective, best }: FitSummary): readonly string[] {
  if (best?.endsRange !== true || objective === "memory") return [];
  return [`batch ${best.batch} is the largest that was tried: a larger --batch may also fit`];
}

const lastAsked = "not tried";

const notProven = "but one may exist (more --iterations search longer)";

/**
 * Formats a rate or a price: with four digits if it was measured, or with two digits and a unit such as k or M if it is
 * an estimate.
 */
export function formatRate(value: number, { timesAre }: Pick<FitSummary, "timesAre">): string {
  if (value < 0.001) return "< 0.001";
  const rounded = Number(value.toPrecision(timesAre === "estimated" ? estimatedDigits : 4));
  if (timesAre === "estimated") return rounded < 9999.5 ? String(rounded) : formatCount(rounded);
  return value >= 1000 ? String(Math.round(value)) : String(rounded);
}

/** Formats the time of a step as precisely as it is known. */
export function formatStepMs(ms: number, { timesAre }: Pick<FitSummary, "timesAre">): string {
  return timesAre === "estimated" ? formatEstimatedMs(ms) : formatMs(ms);
}
