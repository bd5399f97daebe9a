import { formatTable } from "@remat/text-table";
import { formatBytes, formatMs, formatPercent } from "./format-quantity.js";
import { joinParts } from "./join-parts.js";
import { formatOverhead, frontCsvHeaders, frontCsvRows, frontTables, type PlanFront } from "./plan-front.js";
import type { OutputFormat } from "./render-sac.js";
import type { PlanSummary, Recomputed } from "./summarize-plan.js";
import { writeCsv } from "./write-csv.js";

export interface RenderPlanOptions {
  /** Choices between memory and time, to show after the plan. */
  readonly front?: PlanFront;
  /** More sentences, tables among them, to show before the plan's. */
  readonly sections?: readonly PlanSection[];
  /** Sentences for people. */
  readonly notes?: readonly string[];
  /** Whether the budget is of the peak of the step; left out: yes. If not, it is of what modules store. */
  readonly isByPeak?: boolean;
}

/** A table of its own, e.g. of the modules that a method chose. */
export interface PlanSection {
  readonly title: string;
  readonly headers: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly remark?: string;
  /** The same for `json`. */
  readonly name: string;
  readonly data: unknown;
}

/**
 * Returns a plan's summary as text: memory and time beside stock's and those of early release alone, memory at the peak by category, what is recomputed by
 * module and by kernel, the largest storages that are freed for it. `csv`: a row for each of these storages, or for each point of the front; `json`: all of
 * it in bytes, milliseconds and fractions.
 *
 * @example
 * process.stdout.write(renderPlanSummary(summarizePlan(plan, trace, { earlyRelease }), "table"));
 */
export function renderPlanSummary(summary: PlanSummary, format: OutputFormat, options: RenderPlanOptions = {}): string {
  if (format === "json") return `${JSON.stringify(planSummaryJson(summary, options), undefined, 2)}\n`;
  if (format === "csv")
    return options.front === undefined ? freedCsv(summary) : writeCsv(frontCsvHeaders, frontCsvRows(options.front));
  const table = (headers: readonly string[], rows: readonly (readonly string[])[]): string =>
    formatTable(rows, { headers, format: format === "table" ? "rst" : format === "md" ? "markdown" : "plain" });
  const heading = (title: string): string => (format === "md" ? `## ${title}` : title);
  const section = (title: string, headers: readonly string[], rows: readonly (readonly string[])[]): string =>
    `${heading(title)}\n\n${table(headers, rows)}`;
  const { points, freed, freedCount, recomputed } = summary;
  const [stock] = points;
  const parts = [
    describePlan(summary, options.notes ?? []),
    table(
      ["", "Peak", "Of stock", "Step", "Overhead"],
      points.map((point) => [
        point.name,
        formatBytes(point.peakBytes),
        formatPercent(point.peakBytes / stock.peakBytes),
        formatMs(point.stepMs),
        formatOverhead(point.overhead),
      ]),
    ),
  ];
  for (const { title, headers, rows, remark } of options.sections ?? [])
    parts.push(section(title, headers, rows) + (remark === undefined ? "" : `\n${remark}`));
  parts.push(
    section("Held at the peak, by category", ["Category", ...points.map(({ name }) => name)], categoryRows(summary)),
  );
  if (recomputed.runs > 0)
    parts.push(
      section("Recomputed, by module", ["Module", ...recomputedHeaders], recomputedRows(summary.byModule, recomputed)),
      section("Recomputed, by kernel", ["Kernel", ...recomputedHeaders], recomputedRows(summary.byKernel, recomputed)),
      section(
        `The largest of ${freedCount} storages that are freed and recomputed`,
        ["Size", "Shape", "Made by", "Op", "In module", "Freed after op", "Recomputed for op", "Times", "Time"],
        freed.map((storage) => [
          formatBytes(storage.bytes),
          `${storage.dtype} [${storage.shape.join(", ")}]`,
          storage.opName,
          String(storage.op),
          storage.module ?? "",
          String(storage.freedAfterOp),
          String(storage.neededByOp),
          String(storage.runs),
          formatMs(storage.ms),
        ]),
      ),
    );
  else parts.push("Nothing is recomputed: freeing each storage after its last use is enough.");
  if (options.front !== undefined) {
    const { headers, points: rows, recommended } = frontTables(options.front, stock.peakBytes, formatMs);
    parts.push(
      section("Memory for time", ["Budget", ...headers], rows),
      section("Recommended", ["Overhead allowed", ...headers], recommended),
    );
  }
  return joinParts(parts);
}

const recomputedHeaders: readonly string[] = ["Ops recomputed", "Time", "Share", "Memory"];

function recomputedRows(groups: readonly Recomputed[], total: Recomputed): string[][] {
  return [...groups, total].map(({ name, runs, ms, bytes }) => [
    name,
    String(runs),
    formatMs(ms),
    formatPercent(total.ms > 0 ? ms / total.ms : 0),
    formatBytes(bytes),
  ]);
}

function categoryRows({ points }: PlanSummary): string[][] {
  const names = [...new Set(points.flatMap(({ bytesByCategory }) => Object.keys(bytesByCategory)))];
  const [stock] = points;
  names.sort((a, b) => (stock.bytesByCategory[b] ?? 0) - (stock.bytesByCategory[a] ?? 0));
  return [
    ...names.map((name) => [name, ...points.map((point) => formatBytes(point.bytesByCategory[name] ?? 0))]),
    ["total", ...points.map((point) => formatBytes(point.peakBytes))],
  ];
}

function describePlan({ plan, trace, pricedFor, elsewhere }: PlanSummary, notes: readonly string[]): string {
  const { header } = trace;
  const { origin, predicted } = plan;
  const effort = [
    ...(origin.iterations === undefined ? [] : [`${origin.iterations} iterations`]),
    ...(origin.seed === undefined ? [] : [`seed ${origin.seed}`]),
  ];
  const bound =
    predicted.gap === 0
      ? "proven optimal for this order"
      : `no plan takes less than ${formatMs(predicted.lowerBound)}: gap ${formatOverhead(predicted.gap)}`;
  return [
    `${header.model ?? "model"}: ${header.framework}${header.frameworkVersion === undefined ? "" : ` ${header.frameworkVersion}`}, ${header.mode}${header.backend === undefined ? "" : ` ${header.backend} backend`}, priced for ${pricedFor ?? header.device}; ${trace.ops.count} ops`,
    `budget ${formatBytes(origin.budgetBytes)}, method ${origin.method}${effort.length === 0 ? "" : `, ${effort.join(", ")}`}; ${bound}`,
    ...(elsewhere.size === 0
      ? []
      : [
          `planned is ${header.device}; not in any of these figures is what is held elsewhere at the peak: ${Array.from(elsewhere, ([device, bytes]) => `${formatBytes(bytes)} on ${device}`).join(", ")}`,
        ]),
    ...[...(header.notes ?? []), ...notes].map((note) => `note: ${note}`),
  ].join("\n");
}

function freedCsv({ freed }: PlanSummary): string {
  return writeCsv(
    ["bytes", "dtype", "shape", "op", "madeBy", "module", "freedAfterOp", "neededByOp", "runs", "ms"],
    freed.map((storage) => [
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
  );
}

/** Returns a plan's summary as plain data; the plan itself, step by step, is what `writePlan` of `@remat/trace` writes. */
export function planSummaryJson(summary: PlanSummary, options: RenderPlanOptions = {}): unknown {
  const { plan, trace, points, recomputed, byModule, byKernel, freed, freedCount, pricedFor, elsewhere } = summary;
  const { predicted, origin } = plan;
  return {
    ...(options.isByPeak !== false && { feasible: points[2].peakBytes <= origin.budgetBytes }),
    subject: plan.subject,
    origin,
    ...(pricedFor !== undefined && { pricedFor }),
    notes: [...(trace.header.notes ?? []), ...(options.notes ?? [])],
    opCount: trace.ops.count,
    budgetBytes: origin.budgetBytes,
    peakBytes: points[2].peakBytes,
    stockPeakBytes: points[0].peakBytes,
    earlyReleasePeakBytes: points[1].peakBytes,
    stepMs: predicted.cost,
    plainMs: predicted.plain.cost,
    overhead: predicted.overhead,
    lowerBoundMs: predicted.lowerBound,
    gap: predicted.gap,
    ...(origin.seconds !== undefined && { seconds: origin.seconds }),
    // Each peak is told once, above.
    points: points.map(({ peakBytes: _peakBytes, ...point }) => point),
    ...(elsewhere.size > 0 && { elsewhereBytes: Object.fromEntries(elsewhere) }),
    recomputed: { runs: recomputed.runs, ms: recomputed.ms, bytes: recomputed.bytes, byModule, byKernel },
    freedCount,
    freed,
    ...(options.front && { front: options.front.points, recommended: options.front.recommended }),
    ...Object.fromEntries((options.sections ?? []).map(({ name, data }) => [name, data])),
  };
}
