import { displaySacStats, displaySacTradeoffStats, opsTogether } from "@remat/sac-core";
import { formatTable } from "@remat/text-table";
import { formatBytes, formatMs, formatPercent } from "./format-quantity.js";
import { joinParts } from "./join-parts.js";
import { freedShares, type ModuleSacSummary, type SacSummary } from "./summarize-sac.js";
import { type Cell, writeCsv } from "./write-csv.js";

export type OutputFormat = "table" | "plain" | "json" | "csv" | "md";
export const outputFormats: readonly OutputFormat[] = ["table", "plain", "json", "csv", "md"];

export interface RenderSacOptions {
  /** Also the op and trade-off tables of every module, as PyTorch prints them. */
  readonly ops?: boolean;
}

/**
 * Returns a summary as text: `table` (reStructuredText grids), `plain` (columns parted by tabs), `md` (Markdown), `csv` (a row for each module, or
 * for each op with `ops`), `json` (all of it).
 */
export function renderSacSummary(summary: SacSummary, format: OutputFormat, options: RenderSacOptions = {}): string {
  switch (format) {
    case "json":
      return `${JSON.stringify(sacSummaryJson(summary), undefined, 2)}\n`;
    case "csv":
      return options.ops ? opsCsv(summary) : writeCsv(csvHeaders, summary.modules.map(csvRow));
    default:
      return text(summary, format, options.ops ?? false);
  }
}

function text(summary: SacSummary, format: "table" | "plain" | "md", ops: boolean): string {
  const table = (headers: readonly string[], rows: readonly (readonly string[])[]): string =>
    formatTable(rows, { headers, format: format === "table" ? "rst" : format === "md" ? "markdown" : "plain" });
  const heading = (title: string): string => (format === "md" ? `## ${title}` : title);
  const parts = [
    describeRun(summary),
    `${heading("Modules")}\n\n${table(
      [
        "Module",
        "Kind",
        "Calls",
        "Ops",
        "Memory",
        "Saved by autograd",
        "Forward",
        "Backward",
        ...freedShares.map((share) => `${Math.round(share * 100)} % costs`),
      ],
      summary.modules.map((module) => [
        module.fqn,
        module.kind,
        String(module.calls),
        String(module.opCount),
        formatBytes(module.memoryBytes),
        formatBytes(module.savedBytes),
        formatMs(module.forwardMs),
        formatMs(module.backwardMs),
        ...module.recomputeShare.map(formatPercent),
      ]),
    )}`,
    "Memory: what the results of a module's ops take. p % costs: time to recompute what frees p % of that memory, cheapest first, as a\nshare of the module's forward pass.",
    `${heading("Trade-off, fitted")}\n\n${table(
      ["Module", "Pieces", "Memory freed, from", "to", "Slope", "Intercept"],
      summary.modules.flatMap((module) =>
        module.tradeOff.slopes.map((slope, i) => [
          i === 0 ? module.fqn : "",
          i === 0 ? String(module.tradeOff.nSegments) : "",
          formatPercent(module.tradeOff.fitBreaks[i] - 0.01),
          formatPercent(module.tradeOff.fitBreaks[i + 1] - 0.01),
          slope.toFixed(4),
          module.tradeOff.intercepts[i].toFixed(4),
        ]),
      ),
    )}`,
  ];
  if (ops)
    for (const module of summary.modules) {
      const tabular = { tabular: format !== "plain", asPytorch: summary.asPytorch };
      parts.push(
        `${heading(`Module: ${module.fqn}`)}\n\n${fence(displaySacStats(module.stats, tabular), format)}`,
        `AC Trade-off for Module: ${module.fqn} MSPS = Memory/Runtime\n${fence(displaySacTradeoffStats(module.greedyOrder, module.stats, tabular), format)}`,
      );
    }
  return joinParts(parts);
}

function fence(body: string, format: string): string {
  return format === "md" ? `\`\`\`\n${body.trimEnd()}\n\`\`\`` : body;
}

/** Returns what was run and how the numbers were obtained, in a few lines. */
export function describeRun({
  trace: { header, truncated },
  pricedFor,
  opCount,
  forwardMs,
  backwardMs,
}: SacSummary): string {
  const lines = [
    `${header.model ?? "model"}: ${header.framework}${header.frameworkVersion === undefined ? "" : ` ${header.frameworkVersion}`}, ${header.mode}${header.backend === undefined ? "" : ` ${header.backend} backend`}, priced for ${pricedFor ?? header.device}`,
    `${opCount} ops, forward ${formatMs(forwardMs)}, backward ${formatMs(backwardMs)}; allocations in units of ${header.allocationUnitBytes} B`,
    ...(header.notes ?? []).map((note) => `note: ${note}`),
  ];
  if (truncated !== undefined)
    lines.push(`note: the trace ends early, after line ${truncated.line}: ${truncated.reason}`);
  return lines.join("\n");
}

const csvHeaders = [
  "module",
  "kind",
  "depth",
  "calls",
  "ops",
  "memoryBytes",
  "savedBytes",
  "runtimeMs",
  "forwardMs",
  "backwardMs",
  ...freedShares.map((share) => `recomputeShareAt${Math.round(share * 100)}`),
];

function csvRow(module: ModuleSacSummary): readonly Cell[] {
  const { fqn, kind, depth, calls, opCount, memoryBytes, savedBytes, runtimeMs, forwardMs, backwardMs } = module;
  return [
    fqn,
    kind,
    depth,
    calls,
    opCount,
    memoryBytes,
    savedBytes,
    runtimeMs,
    forwardMs,
    backwardMs,
    ...module.recomputeShare,
  ];
}

function opsCsv(summary: SacSummary): string {
  const rows: Cell[][] = [];
  for (const { fqn, stats } of summary.modules) {
    const flags = [stats.viewLikeOps, stats.randOps, stats.savedAutogradOps].map((ops) => new Set(ops));
    const parents = new Map(Array.from(stats.inplaceOps, (op, i) => [op, stats.inplaceParents[i]]));
    stats.funcNames.forEach((name, i) => {
      rows.push([
        fqn,
        i,
        name,
        stats.runtimesMs[i],
        stats.memoryBytes[i],
        ...flags.map((set) => set.has(i)),
        parents.get(i),
      ]);
    });
  }
  return writeCsv(
    ["module", "op", "name", "runtimeMs", "memoryBytes", "viewLike", "random", "savedByAutograd", "inPlaceParent"],
    rows,
  );
}

/** Returns a summary as plain data: names as in PyTorch's classes, indices into each module's own list of ops. */
export function sacSummaryJson(summary: SacSummary): unknown {
  const { trace } = summary;
  return {
    header: trace.header,
    ...(summary.pricedFor !== undefined && { pricedFor: summary.pricedFor }),
    ...(trace.truncated && { truncated: trace.truncated }),
    opCount: summary.opCount,
    forwardMs: summary.forwardMs,
    backwardMs: summary.backwardMs,
    freedShares,
    modules: summary.modules.map(({ stats, greedyOrder, tradeOff, ...module }) => ({
      ...module,
      stats: {
        funcNames: stats.funcNames,
        runtimesMs: Array.from(stats.runtimesMs),
        memoryBytes: Array.from(stats.memoryBytes),
        viewLikeOps: Array.from(stats.viewLikeOps),
        randOps: Array.from(stats.randOps),
        savedAutogradOps: Array.from(stats.savedAutogradOps),
        inplaceOps: Array.from(stats.inplaceOps, (op, i) => [op, stats.inplaceParents[i]]),
        forceStoreRandom: stats.forceStoreRandom,
      },
      greedyOrder: {
        recomputedOps: Array.from(greedyOrder.recomputedOps),
        storedOps: Array.from(greedyOrder.storedOps),
        steps: Array.from(greedyOrder.mspsMeta.opIdx, (op, i) => ({
          ops: Array.from(opsTogether(greedyOrder, op)),
          memoryBytes: greedyOrder.mspsMeta.memoryBytes[i],
          runtimeMs: greedyOrder.mspsMeta.runtimeMs[i],
          bytesPerMs: greedyOrder.mspsMeta.runtimeMs[i] > 0 ? greedyOrder.mspsMeta.msps[i] : null,
        })),
      },
      tradeOff: {
        nSegments: tradeOff.nSegments,
        slopes: tradeOff.slopes,
        intercepts: tradeOff.intercepts,
        fitBreaks: tradeOff.fitBreaks,
        fitResidual: tradeOff.fitResidual,
        discardedMemory: Array.from(tradeOff.tradeoffCurve.discardedMemory),
        recomputationTime: Array.from(tradeOff.tradeoffCurve.recomputationTime),
        sacMemoryBytes: tradeOff.sacMemoryBytes,
        sacRuntimeMs: tradeOff.sacRuntimeMs,
      },
    })),
  };
}
