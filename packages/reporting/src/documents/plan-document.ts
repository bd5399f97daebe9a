import { traceNotes } from "@remat/trace";
import { labelCategory } from "../category-colours.js";
import { describeProof } from "../describe-proof.js";
import { formatOverhead, formatPercent } from "../format-quantity.js";
import type { DocumentPart, DocumentRecords, OutputDocument } from "../formats/output-document.js";
import { type SizeFormat, type SizeUnit, sizeFormat } from "../size-unit.js";
import type { Offloaded, PlanPoint, PlanSummary, Recomputed } from "../summarize-plan.js";
import { describeTimes, type TimeFormat, timeFormat } from "../time-quality.js";
import { frontRecords, frontTables, type PlanFront } from "./plan-front.js";

/** Options of a report on a plan. */
export interface PlanDocumentOptions {
  /** Trade-offs between memory and time, shown after the plan. */
  readonly front?: PlanFront | undefined;
  /** Additional sections, which may contain tables, shown before the plan's own. */
  readonly sections?: readonly PlanSection[];
  /** Notes, as sentences. */
  readonly notes?: readonly string[];
  /** Unit of all sizes. Default: a suitable unit for each size. */
  readonly units?: SizeUnit;
  /**
   * True if the budget applies to the step's peak (the default). If false, it applies to the memory that modules store.
   */
  readonly isByPeak?: boolean;
}

/** A table of its own, such as the modules that a method chose. */
export interface PlanSection {
  readonly title: string;
  readonly headers: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly remark?: string | undefined;
  /** The same data for `json`. */
  readonly name: string;
  readonly data: unknown;
}

/**
 * Returns a report on a plan. It compares memory and time with the baseline and with a plan without recomputation. It
 * also shows memory at the peak by category, recomputation by module and by kernel, and the largest storages that are
 * freed and recomputed. The records have one row for each of these storages, or for each point of the front.
 *
 * @example
 * process.stdout.write(writeDocument(planDocument(summarizePlan(plan, trace, { unrecomputed })), "table"));
 */
export function planDocument(summary: PlanSummary, options: PlanDocumentOptions = {}): OutputDocument {
  const { front, sections = [], notes = [], units } = options;
  const size = sizeFormat(units);
  const time = timeFormat(summary.trace);
  const [stock] = summary.points;
  return {
    parts: () => [
      { kind: "text", lines: describePlan(summary, notes, size) },
      figuresTable(summary, size),
      ...sections.map(({ title, headers, rows, remark }): DocumentPart => {
        return { kind: "table", title, headers, rows, remark };
      }),
      pointsByCategory(summary, size),
      ...(summary.offloaded === undefined ? [] : [textOf(describeOffloaded(summary.offloaded, size, time))]),
      ...(summary.recomputed.runs > 0
        ? recomputedTables(summary, size)
        : [
            textOf(
              `Nothing is recomputed. Freeing each storage after its last use ${summary.offloaded === undefined ? "is" : "and offloading are"} enough.`,
            ),
          ]),
      ...(front === undefined ? [] : frontParts(front, stock.peakBytes, time, size)),
    ],
    records: () => (front === undefined ? freedRecords(summary) : frontRecords(front)),
    value: () => planSummaryJson(summary, options),
  };
}

const textOf = (line: string): DocumentPart => ({ kind: "text", lines: [line] });

/**
 * Describes the offloaded tensors in a sentence: `Offloaded: 3 tensors, 12 MiB; …`.
 *
 * @internal
 */
function describeOffloaded(
  { tensors, bytes, reloadedBytes, hostPeakBytes, transferMs }: Offloaded,
  size: SizeFormat,
  time: TimeFormat,
): string {
  return `Offloaded: ${tensors} ${tensors === 1 ? "tensor" : "tensors"}, ${size(bytes)}, at most ${size(hostPeakBytes)} of it in host memory at once. ${size(reloadedBytes)} is reloaded. The transfers add ${time(transferMs)} to the step, during which nothing is computed.`;
}

function figuresTable({ trace, points }: PlanSummary, size: SizeFormat): DocumentPart {
  const time = timeFormat(trace);
  const [stock] = points;
  return {
    kind: "table",
    headers: ["", "Peak", "Of baseline", "Step", "Overhead"],
    rows: points.map((point) => [
      labelPoint(point.name),
      size(point.peakBytes),
      formatPercent(point.peakBytes / stock.peakBytes),
      time(point.stepMs),
      formatOverhead(point.overhead),
    ]),
  };
}

function recomputedTables(
  { trace, byModule, byKernel, recomputed, freed, freedCount }: PlanSummary,
  size: SizeFormat,
): DocumentPart[] {
  const time = timeFormat(trace);
  return [
    {
      kind: "table",
      title: "Recomputed by module",
      headers: ["Module", ...recomputedHeaders],
      rows: recomputedRows(byModule, recomputed, time, size),
    },
    {
      kind: "table",
      title: "Recomputed by kernel",
      headers: ["Kernel", ...recomputedHeaders],
      rows: recomputedRows(byKernel, recomputed, time, size),
    },
    {
      kind: "table",
      title: `Largest of ${freedCount} storages that are freed and recomputed`,
      headers: [
        "Size",
        "Shape",
        "Allocated by",
        "Op",
        "Module",
        "Freed after op",
        "Recomputed for op",
        "Times",
        "Time",
      ],
      worth: [9, 4, 7, 3, 8, 1, 2, 5, 6],
      names: ["Module"],
      rows: freed.map((storage) => [
        size(storage.bytes),
        `${storage.dtype} [${storage.shape.join(", ")}]`,
        storage.opName,
        String(storage.op),
        storage.module ?? "",
        String(storage.freedAfterOp),
        String(storage.neededByOp),
        String(storage.runs),
        time(storage.ms),
      ]),
    },
  ];
}

function frontParts(front: PlanFront, stockBytes: number, time: TimeFormat, size: SizeFormat): DocumentPart[] {
  const { headers, points, recommended } = frontTables(front, stockBytes, time, size);
  return [
    { kind: "table", title: "Memory against time", headers: ["Budget", ...headers], rows: points },
    { kind: "table", title: "Recommended", headers: ["Allowed overhead", ...headers], rows: recommended },
  ];
}

/** Names of points in tables. */
const pointLabels: Readonly<Record<PlanPoint["name"], string>> = {
  stock: "baseline",
  "early release": "early release",
  "not recomputed": "no recomputation",
  planned: "planned",
};

const labelPoint = (name: PlanPoint["name"]): string => pointLabels[name];

const recomputedHeaders: readonly string[] = ["Ops recomputed", "Time", "Share", "Memory"];

function recomputedRows(
  groups: readonly Recomputed[],
  total: Recomputed,
  time: TimeFormat,
  size: SizeFormat,
): string[][] {
  return [...groups, total].map(({ name, runs, ms, bytes }) => [
    name,
    String(runs),
    time(ms),
    formatPercent(total.ms > 0 ? ms / total.ms : 0),
    size(bytes),
  ]);
}

function pointsByCategory({ points }: PlanSummary, size: SizeFormat): DocumentPart {
  const names = [...new Set(points.flatMap(({ bytesByCategory }) => Object.keys(bytesByCategory)))];
  const [stock] = points;
  names.sort((a, b) => (stock.bytesByCategory[b] ?? 0) - (stock.bytesByCategory[a] ?? 0));
  return {
    kind: "table",
    title: "Peak memory by category",
    headers: ["Category", ...points.map(({ name }) => labelPoint(name))],
    rows: [
      ...names.map((name) => [labelCategory(name), ...points.map((point) => size(point.bytesByCategory[name] ?? 0))]),
      ["Total", ...points.map((point) => size(point.peakBytes))],
    ],
  };
}

function describePlan(
  { plan, trace, pricedFor, elsewhere }: PlanSummary,
  notes: readonly string[],
  size: SizeFormat,
): readonly string[] {
  const { header } = trace;
  const { origin } = plan;
  const effort = [
    ...(origin.iterations === undefined ? [] : [`${origin.iterations} iterations`]),
    ...(origin.seed === undefined ? [] : [`seed ${origin.seed}`]),
  ];
  return [
    `${header.model ?? "model"}: ${header.framework}${header.frameworkVersion === undefined ? "" : ` ${header.frameworkVersion}`}, ${header.mode}${header.backend === undefined ? "" : ` ${header.backend} backend`}, ${describeTimes(pricedFor ?? header.device, trace)}; ${trace.ops.count} ops`,
    `budget ${size(origin.budgetBytes)}, method ${origin.method}${effort.length === 0 ? "" : `, ${effort.join(", ")}`}; ${describeProof(plan, timeFormat(trace))}`,
    ...(elsewhere.size === 0
      ? []
      : [
          `The plan is for ${header.device}. These figures do not include memory of other devices at the peak: ${Array.from(elsewhere, ([device, bytes]) => `${size(bytes)} on ${device}`).join(", ")}.`,
        ]),
    ...[...traceNotes(trace), ...notes].map((note) => `note: ${note}`),
  ];
}

function freedRecords({ freed }: PlanSummary): DocumentRecords {
  return {
    columns: ["bytes", "dtype", "shape", "op", "madeBy", "module", "freedAfterOp", "neededByOp", "runs", "ms"],
    rows: freed.map((storage) => [
      storage.bytes,
      storage.dtype,
      storage.shape.join("x"),
      storage.op,
      storage.opName,
      storage.module,
      storage.freedAfterOp,
      storage.neededByOp,
      storage.runs,
      storage.ms,
    ]),
  };
}

/**
 * Returns a plan's summary as plain data. The plan itself, step by step, is written by `writePlan` of `@remat/trace`.
 */
export function planSummaryJson(summary: PlanSummary, options: PlanDocumentOptions = {}): unknown {
  const { plan, trace, points, recomputed, byModule, byKernel, freed, freedCount, offloaded, pricedFor, elsewhere } =
    summary;
  const { predicted, origin } = plan;
  const peakOf = (name: PlanPoint["name"]) => points.find((point) => point.name === name)?.peakBytes;
  const peakBytes = peakOf("planned")!;
  return {
    ...(options.isByPeak !== false && { feasible: peakBytes <= origin.budgetBytes }),
    subject: plan.subject,
    origin,
    ...(pricedFor !== undefined && { pricedFor }),
    notes: [...(trace.header.notes ?? []), ...(options.notes ?? [])],
    opCount: trace.ops.count,
    budgetBytes: origin.budgetBytes,
    peakBytes,
    stockPeakBytes: peakOf("stock"),
    earlyReleasePeakBytes: peakOf("early release"),
    unrecomputedPeakBytes: peakOf("not recomputed"),
    stepMs: predicted.cost,
    plainMs: predicted.plain.cost,
    overhead: predicted.overhead,
    lowerBoundMs: predicted.lowerBound,
    gap: predicted.gap,
    // Each peak is already given in `points`.
    points,
    ...(elsewhere.size > 0 && { elsewhereBytes: Object.fromEntries(elsewhere) }),
    recomputed: { runs: recomputed.runs, ms: recomputed.ms, bytes: recomputed.bytes, byModule, byKernel },
    freedCount,
    freed,
    ...(offloaded !== undefined && { offloaded }),
    ...(options.front && { front: options.front.points, recommended: options.front.recommended }),
    ...Object.fromEntries((options.sections ?? []).map(({ name, data }) => [name, data])),
  };
}
