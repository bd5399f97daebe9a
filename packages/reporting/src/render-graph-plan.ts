import { formatTable } from "@remat/text-table";
import { formatBytes, formatPercent } from "./format-quantity.js";
import { joinParts } from "./join-parts.js";
import { formatOverhead, frontCsvHeaders, frontCsvRows, frontTables, type PlanFront } from "./plan-front.js";
import type { OutputFormat } from "./render-sac.js";
import { writeCsv } from "./write-csv.js";

/** A schedule of a graph file, and what is needed to show it. */
export interface GraphPlanSummary {
  readonly name: string;
  readonly nodes: readonly { readonly name: string; readonly bytes: number; readonly cost: number }[];
  readonly edgeCount: number;
  /** Running every node once in the given order. */
  readonly inOrder: { readonly peakBytes: number; readonly cost: number };
  readonly budgetBytes: number;
  readonly order: "fixed" | "free";
  /** Node indices. */
  readonly sequence: readonly number[];
  readonly peakBytes: number;
  readonly cost: number;
  readonly overhead: number;
  readonly lowerBound: number;
  readonly gap: number;
  readonly seconds: number;
  readonly iterations: number;
  readonly seed: number;
  readonly front?: PlanFront;
}

/**
 * Returns a graph's schedule as text: memory and cost beside those of running every node once, and what is recomputed. `csv`: a row a step, or one for
 * each point of the front; `json`: all of it, `sequence` as node indices, overheads and gaps as fractions.
 *
 * @param options.limit how many of the recomputed nodes to list; 10 if not given
 */
export function renderGraphPlan(
  summary: GraphPlanSummary,
  format: OutputFormat,
  options: { readonly limit?: number; readonly notes?: readonly string[] } = {},
): string {
  const { front, nodes, sequence, inOrder, ...rest } = summary;
  if (format === "json")
    return `${JSON.stringify({
      feasible: true,
      nodeCount: nodes.length,
      inOrder,
      ...rest,
      ...(front && { front: front.points, recommended: front.recommended }),
      ...(options.notes && options.notes.length > 0 && { notes: options.notes }),
      sequence,
    })}\n`;
  if (format === "csv")
    return front === undefined ? sequenceCsv(summary) : writeCsv(frontCsvHeaders, frontCsvRows(front));
  const table = (headers: readonly string[], rows: readonly (readonly string[])[]): string =>
    formatTable(rows, { headers, format: format === "table" ? "rst" : format === "md" ? "markdown" : "plain" });
  const heading = (title: string): string => (format === "md" ? `## ${title}` : title);
  const again = recomputedNodes(summary);
  const limit = options.limit ?? 10;
  const parts = [
    [
      `${summary.name}: ${nodes.length} nodes, ${summary.edgeCount} edges`,
      `budget ${formatBytes(summary.budgetBytes)}, ${summary.order} order, ${summary.iterations} iterations, seed ${summary.seed}; ${describeGap(summary)}`,
      ...(options.notes ?? []).map((note) => `note: ${note}`),
    ].join("\n"),
    table(
      ["", "Peak", "Of in order", "Cost", "Overhead"],
      [
        ["in order", formatBytes(inOrder.peakBytes), formatPercent(1), formatCost(inOrder.cost), formatOverhead(0)],
        [
          "planned",
          formatBytes(summary.peakBytes),
          formatPercent(summary.peakBytes / inOrder.peakBytes),
          formatCost(summary.cost),
          formatOverhead(summary.overhead),
        ],
      ],
    ),
    again.length === 0
      ? "No node runs twice."
      : `${heading(`${again.length > limit ? `The dearest of ${again.length} nodes` : "Nodes"} that are recomputed`)}\n\n${table(
          ["Node", "Name", "Bytes", "Cost", "Times recomputed"],
          again
            .slice(0, limit)
            .map(({ node, times }) => [
              String(node),
              nodes[node].name,
              formatBytes(nodes[node].bytes),
              formatCost(nodes[node].cost),
              String(times),
            ]),
        )}`,
  ];
  if (front !== undefined) {
    const { headers, points, recommended } = frontTables(front, inOrder.peakBytes, formatCost);
    const named = headers.map((header) => (header === "Of stock" ? "Of in order" : header));
    parts.push(
      `${heading("Memory for cost")}\n\n${table(["Budget", ...named], points)}`,
      `${heading("Recommended")}\n\n${table(["Overhead allowed", ...named], recommended)}`,
    );
  }
  return joinParts(parts);
}

function describeGap({ gap, lowerBound, order }: GraphPlanSummary): string {
  if (gap === 0) return order === "fixed" ? "proven optimal for this order" : "proven optimal";
  return `no schedule costs less than ${formatCost(lowerBound)}: gap ${formatOverhead(gap)}`;
}

function recomputedNodes({ nodes, sequence }: GraphPlanSummary): { node: number; times: number }[] {
  const runs = new Int32Array(nodes.length);
  for (const node of sequence) runs[node]++;
  return Array.from(runs, (count, node) => ({ node, times: count - 1 }))
    .filter(({ times }) => times > 0)
    .sort((a, b) => nodes[b.node].cost * b.times - nodes[a.node].cost * a.times || a.node - b.node);
}

function sequenceCsv({ nodes, sequence }: GraphPlanSummary): string {
  const seen = new Uint8Array(nodes.length);
  return writeCsv(
    ["step", "node", "name", "bytes", "cost", "recomputed"],
    sequence.map((node, step) => {
      const again = seen[node] === 1;
      seen[node] = 1;
      return [step, node, nodes[node].name, nodes[node].bytes, nodes[node].cost, again];
    }),
  );
}

/** Costs of graph files have no unit. */
function formatCost(cost: number): string {
  return Number.isInteger(cost) ? String(cost) : String(Number(cost.toPrecision(6)));
}
