import { displaySacStats, displaySacTradeoffStats } from "@remat/sac-core";
import { formatBytes, formatMs, formatPercent } from "../format-quantity.js";
import type { DocumentPart, DocumentRecords, OutputDocument } from "../formats/output-document.js";
import { freedShares, type ModuleSacSummary, type SacSummary } from "../summarize-sac.js";
import type { Cell } from "../write-csv.js";
import { sacSummaryJson } from "./sac-summary-json.js";

/** How much of a SAC summary is told. */
export interface SacDocumentOptions {
  /** Also the op and trade-off tables of every module, as PyTorch prints them. */
  readonly ops?: boolean;
}

/** Returns what a summary tells; its records are a row for each module, or for each op with `ops`. */
export function sacDocument(summary: SacSummary, { ops = false }: SacDocumentOptions = {}): OutputDocument {
  return {
    parts: () => [
      { kind: "text", lines: [describeRun(summary)] },
      modulesTable(summary),
      {
        kind: "text",
        lines: [
          "Memory: what the results of a module's ops take. p % costs: time to recompute what frees p % of that memory, cheapest first, as a",
          "share of the module's forward pass.",
        ],
      },
      tradeOffTable(summary),
      ...(ops ? opListings(summary) : []),
    ],
    records: () => (ops ? opRecords(summary) : { columns: moduleColumns, rows: summary.modules.map(moduleRow) }),
    value: () => sacSummaryJson(summary),
  };
}

function modulesTable({ modules }: SacSummary): DocumentPart {
  return {
    kind: "table",
    title: "Modules",
    headers: [
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
    rows: modules.map((module) => [
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
  };
}

function tradeOffTable({ modules }: SacSummary): DocumentPart {
  return {
    kind: "table",
    title: "Trade-off, fitted",
    headers: ["Module", "Pieces", "Memory freed, from", "to", "Slope", "Intercept"],
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
