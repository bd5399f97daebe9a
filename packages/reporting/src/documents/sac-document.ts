import { layerCosts } from "@remat/runtime-estimator";
import { displaySacStats, displaySacTradeoffStats } from "@remat/sac-core";
import { traceNotes } from "@remat/trace";
import type { CsvCell as Cell } from "@remat/trace/emit";
import { describeCosts } from "../describe-costs.js";
import { formatPercent, formatWholePercent } from "../format-quantity.js";
import type { DocumentPart, DocumentRecords, OutputDocument } from "../formats/output-document.js";
import { type SizeFormat, type SizeUnit, sizeFormat } from "../size-unit.js";
import { freedShares, type ModuleSacSummary, type SacSummary } from "../summarize-sac.js";
import { describeTimes, timeFormat } from "../time-quality.js";
import { categoriesTable } from "./categories-table.js";
import { sacSummaryJson } from "./sac-summary-json.js";

/** Options of a SAC report. */
export interface SacDocumentOptions {
  /** True to include the op and trade-off tables of every module, as PyTorch prints them. */
  readonly ops?: boolean | undefined;
  /** True to include the pieces fitted to each module's trade-off curve. */
  readonly fit?: boolean | undefined;
  /** How many modules to show, from those with the most memory. Default: all. */
  readonly limit?: number | undefined;
  /** Unit of all sizes. Default: a suitable unit for each size. */
  readonly units?: SizeUnit | undefined;
}

/** Returns a SAC summary as a document. The records have one row for each module, or with `ops` for each op. */
export function sacDocument(summary: SacSummary, options: SacDocumentOptions = {}): OutputDocument {
  const { ops = false, fit = false, limit, units } = options;
  const size = sizeFormat(units);
  return {
    parts: () => [
      { kind: "text", lines: runLines(summary) },
      ...(summary.peak === undefined ? [] : [categoriesTable({ ...summary.peak, place: "peak" }, size)]),
      modulesTable(summary, size, limit),
      ...(fit ? [tradeOffTable(summary)] : []),
      ...(ops ? opListings(summary) : []),
    ],
    records: () => (ops ? opRecords(summary) : { columns: moduleColumns, rows: summary.modules.map(moduleRow) }),
    value: () => sacSummaryJson(summary),
  };
}

function modulesTable({ trace, modules }: SacSummary, size: SizeFormat, limit = modules.length): DocumentPart {
  const time = timeFormat(trace);
  // The program calls ops directly, or layers outside of a model.
  if (modules.length === 0)
    return {
      kind: "text",
      lines: [
        "The run has no module that contains others, and statistics are for those. To see what uses the memory: remat memory.",
      ],
    };
  const isHeld = modules.some(({ heldBytes }) => heldBytes !== undefined);
  const shown = isHeld
    ? modules.toSorted((a, b) => (b.heldBytes ?? 0) - (a.heldBytes ?? 0)).slice(0, limit)
    : modules.slice(0, limit);
  const columns: readonly (readonly [header: string, worth: number, cell: (module: ModuleSacSummary) => string])[] = [
    ["Module", 9, ({ fqn }) => fqn],
    ...(isHeld ? [["Live at peak", 8, ({ heldBytes = 0 }: ModuleSacSummary) => size(heldBytes)] as const] : []),
    ["Kind", 2, ({ kind }) => kind],
    ["Calls", 0, ({ calls }) => String(calls)],
    ["Ops", 1, ({ opCount }) => String(opCount)],
    ["Memory", 4, ({ memoryBytes }) => size(memoryBytes)],
    ["Saved by autograd", 6, ({ savedBytes }) => size(savedBytes)],
    ["Forward", 5, ({ forwardMs }) => time(forwardMs)],
    ["Backward", 3, ({ backwardMs }) => time(backwardMs)],
    ...freedShares.map(
      (share, i) =>
        [
          `${formatWholePercent(share)} costs`,
          [2.5, 7, 2, 4.5][i],
          (module: ModuleSacSummary) => formatPercent(module.recomputeShare[i]),
        ] as const,
    ),
  ];
  return {
    kind: "table",
    title: shown.length < modules.length ? `Largest ${shown.length} of ${modules.length} modules` : "Modules",
    headers: columns.map(([header]) => header),
    worth: columns.map(([, worth]) => worth),
    rows: shown.map((module) => columns.map(([, , cell]) => cell(module))),
    remark: [
      ...(isHeld ? ["Live at peak: how much of peak memory the module's weights and the results of its ops use."] : []),
      "Memory: the results of its ops. Saved by autograd: those kept for the backward pass.",
      "50% costs: at most this much extra forward time to free 50% of Memory, in greedy order (remat ui searches for a cheaper choice).",
    ].join("\n"),
  };
}

function tradeOffTable({ modules }: SacSummary): DocumentPart {
  return {
    kind: "table",
    title: "Fitted trade-off",
    headers: ["Module", "Pieces", "From", "To", "Slope", "Intercept"],
    worth: [9, 3, 4, 7, 8, 6],
    remark: "From, To: the range of each piece, as the share of Memory that is freed.",
    rows: modules.flatMap((module) =>
      module.tradeOff.slopes.map((slope, i) => [
        i === 0 ? module.fqn : "",
        i === 0 ? String(module.tradeOff.nSegments) : "",
        formatPercent(module.tradeOff.fitBreaks[i] - 0.01),
        formatPercent(module.tradeOff.fitBreaks[i + 1] - 0.01),
        slope.toFixed(4),
        module.tradeOff.intercepts[i].toFixed(4),
      ]),
    ),
  };
}

function opListings({ modules, asPytorch }: SacSummary): DocumentPart[] {
  return modules.flatMap(({ fqn, stats, greedyOrder }): DocumentPart[] => [
    {
      kind: "listing",
      title: `Module: ${fqn}`,
      text: (isGrid) => displaySacStats(stats, { tabular: isGrid }),
    },
    {
      kind: "listing",
      caption: `AC Trade-off for Module: ${fqn} MSPS = Memory/Runtime`,
      text: (isGrid) => displaySacTradeoffStats(greedyOrder, stats, { tabular: isGrid, asPytorch }),
    },
  ]);
}

/** Describes in a few lines the run and how its numbers were obtained. */
export function describeRun(summary: SacSummary): string {
  return runLines(summary).join("\n");
}

/** Costs of the forward pass, if the trace records weights. */
function costLines(trace: SacSummary["trace"]): readonly string[] {
  const costs = layerCosts(trace);
  return costs.total.parameters + costs.total.buffers === 0 ? [] : [describeCosts(costs)];
}

function runLines({ trace, pricedFor, opCount, times }: SacSummary): readonly string[] {
  const { header } = trace;
  const time = timeFormat(trace);
  const update = times.optimizerMs > 0 ? `, optimizer ${time(times.optimizerMs)}` : "";
  return [
    `${header.model ?? "model"}: ${header.framework}${header.frameworkVersion === undefined ? "" : ` ${header.frameworkVersion}`}, ${header.mode}${header.backend === undefined ? "" : ` ${header.backend} backend`}, ${describeTimes(pricedFor ?? header.device, trace)}`,
    `${opCount} ops, forward ${time(times.forwardMs)}, backward ${time(times.backwardMs)}${update}; allocation unit ${header.allocationUnitBytes} B`,
    ...costLines(trace),
    ...traceNotes(trace).map((note) => `note: ${note}`),
  ];
}

const moduleColumns: readonly string[] = [
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

function moduleRow(module: ModuleSacSummary): readonly Cell[] {
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

function opRecords(summary: SacSummary): DocumentRecords {
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
  return {
    columns: [
      "module",
      "op",
      "name",
      "runtimeMs",
      "memoryBytes",
      "viewLike",
      "random",
      "savedByAutograd",
      "inPlaceParent",
    ],
    rows,
  };
}
