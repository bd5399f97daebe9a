import { formatOverhead, formatPercent } from "../format-quantity.js";
import type { DocumentPart, DocumentRecords, OutputDocument } from "../formats/output-document.js";
import { type SizeFormat, type SizeUnit, sizeFormat } from "../size-unit.js";
import { frontRecords, frontTables, type PlanFront } from "./plan-front.js";

/** A schedule of a graph file, and the facts needed to show it. */
export interface GraphPlanSummary {
  readonly name: string;
  readonly nodes: readonly { readonly name: string; readonly bytes: number; readonly cost: number }[];
  readonly edgeCount: number;
  /** Peak and cost of running every node once in the given order. */
  readonly inOrder: { readonly peakBytes: number; readonly cost: number };
  readonly budgetBytes: number;
  readonly order: "fixed" | "free";
  /** Node indices; `~node` reloads the node's offloaded output. */
  readonly sequence: readonly number[];
  readonly peakBytes: number;
  readonly cost: number;
  readonly overhead: number;
  readonly lowerBound: number;
  readonly gap: number;
  readonly iterations: number;
  readonly seed: number;
  readonly front?: PlanFront | undefined;
}

/** Options of a report on a schedule. */
export interface GraphPlanDocumentOptions {
  /** How many recomputed nodes to list (10 by default). */
  readonly limit?: number;
  /** Notes, as sentences. */
  readonly notes?: readonly string[];
  /** Unit of all sizes. Default: a suitable unit for each size. */
  readonly units?: SizeUnit;
}

/**
 * Returns a report on a graph's schedule: memory and cost compared with running every node once, and the recomputed
 * nodes. The records have one row for each step, or for each point of the front. In the JSON value `sequence` contains
 * node indices. Overheads and gaps are fractions.
 */
export function graphPlanDocument(
  summary: GraphPlanSummary,
  { limit = 10, notes = [], units }: GraphPlanDocumentOptions = {},
): OutputDocument {
  const { front, nodes, sequence, inOrder, ...rest } = summary;
  const size = sizeFormat(units);
  return {
    isLong: true,
    parts: () => [
      {
        kind: "text",
        lines: [
          `${summary.name}: ${nodes.length} nodes, ${summary.edgeCount} edges`,
          `budget ${size(summary.budgetBytes)}, ${summary.order} order, ${summary.iterations} iterations, seed ${summary.seed}; ${describeGap(summary)}`,
          ...notes.map((note) => `note: ${note}`),
        ],
      },
      figuresTable(summary, size),
      ...offloadedParts(summary, size),
      recomputedPart(summary, limit, size),
      ...(front === undefined ? [] : frontParts(front, inOrder.peakBytes, size)),
    ],
    records: () => (front === undefined ? stepRecords(summary) : frontRecords(front)),
    value: () => ({
      feasible: true,
      nodeCount: nodes.length,
      inOrder,
      ...rest,
      ...(front && { front: front.points, recommended: front.recommended }),
      ...(notes.length > 0 && { notes }),
      sequence,
    }),
  };
}

function figuresTable({ inOrder, peakBytes, cost, overhead }: GraphPlanSummary, size: SizeFormat): DocumentPart {
  return {
    kind: "table",
    headers: ["", "Peak", "Share of given order", "Cost", "Overhead"],
    rows: [
      ["given order", size(inOrder.peakBytes), formatPercent(1), formatCost(inOrder.cost), formatOverhead(0)],
      [
        "planned",
        size(peakBytes),
        formatPercent(peakBytes / inOrder.peakBytes),
        formatCost(cost),
        formatOverhead(overhead),
      ],
    ],
  };
}

function recomputedPart(summary: GraphPlanSummary, limit: number, size: SizeFormat): DocumentPart {
  const { nodes } = summary;
  const again = recomputedNodes(summary);
  if (again.length === 0) return { kind: "text", lines: ["No node is recomputed."] };
  return {
    kind: "table",
    title: again.length > limit ? `Most expensive of ${again.length} recomputed nodes` : "Recomputed nodes",
    headers: ["Node", "Name", "Bytes", "Cost", "Times recomputed"],
    rows: again
      .slice(0, limit)
      .map(({ node, times }) => [
        String(node),
        nodes[node].name,
        size(nodes[node].bytes),
        formatCost(nodes[node].cost),
        String(times),
      ]),
  };
}

function frontParts(front: PlanFront, inOrderBytes: number, size: SizeFormat): DocumentPart[] {
  const { headers, points, recommended } = frontTables(front, inOrderBytes, formatCost, size);
  const named = headers.map((header) => (header === "Of baseline" ? "Share of given order" : header));
  return [
    { kind: "table", title: "Memory against cost", headers: ["Budget", ...named], rows: points },
    { kind: "table", title: "Recommended", headers: ["Allowed overhead", ...named], rows: recommended },
  ];
}

function describeGap({ gap, lowerBound, order }: GraphPlanSummary): string {
  if (gap === 0) return order === "fixed" ? "proven optimal for this order" : "proven optimal";
  return `no schedule costs less than ${formatCost(lowerBound)} (optimality gap ${formatOverhead(gap)})`;
}

function recomputedNodes({ nodes, sequence }: GraphPlanSummary): { node: number; times: number }[] {
  const runs = new Int32Array(nodes.length);
  for (const node of sequence) if (node >= 0) runs[node]++;
  return Array.from(runs, (count, node) => ({ node, times: count - 1 }))
    .filter(({ times }) => times > 0)
    .sort((a, b) => nodes[b.node].cost * b.times - nodes[a.node].cost * a.times || a.node - b.node);
}

function stepRecords({ nodes, sequence }: GraphPlanSummary): DocumentRecords {
  const seen = new Uint8Array(nodes.length);
  const canReload = sequence.some((entry) => entry < 0);
  return {
    columns: ["step", "node", "name", "bytes", "cost", "recomputed", ...(canReload ? ["reloaded"] : [])],
    rows: sequence.map((entry, step) => {
      const isReload = entry < 0;
      const node = isReload ? ~entry : entry;
      const again = !isReload && seen[node] === 1;
      seen[node] = 1;
      const { name, bytes, cost } = nodes[node];
      return [step, node, name, bytes, isReload ? undefined : cost, again, ...(canReload ? [isReload] : [])];
    }),
  };
}

function offloadedParts({ nodes, sequence }: GraphPlanSummary, size: SizeFormat): DocumentPart[] {
  const reloaded = sequence.filter((node) => node < 0).map((node) => ~node);
  if (reloaded.length === 0) return [];
  const once = [...new Set(reloaded)];
  const bytesOf = (some: readonly number[]) => size(some.reduce((sum, node) => sum + nodes[node].bytes, 0));
  const counted = `${once.length} ${once.length === 1 ? "node's result" : "nodes' results"}`;
  return [
    {
      kind: "text",
      lines: [`Offloaded: ${counted}, ${bytesOf(once)}; ${bytesOf(reloaded)} is reloaded.`],
    },
  ];
}

/** Formats a cost. Costs in graph files have no unit. */
function formatCost(cost: number): string {
  return Number.isInteger(cost) ? String(cost) : String(Number(cost.toPrecision(6)));
}
