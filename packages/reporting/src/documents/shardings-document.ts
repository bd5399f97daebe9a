import type { CategoryName } from "@remat/trace";
import { receivedBytes, type ShardingComparison, type ShardingOutcome } from "../compare-shardings.js";
import { formatPercent } from "../format-quantity.js";
import type { OutputDocument } from "../formats/output-document.js";
import { type SizeFormat, type SizeUnit, sizeFormat } from "../size-unit.js";

const columns: readonly (readonly [header: string, categories: readonly CategoryName[], worth: number])[] = [
  ["Parameters", ["parameter", "shardedParameter", "unshardedParameter"], 5],
  ["Gradients", ["gradient", "shardedGradient", "unshardedGradient"], 4],
  ["Optimizer", ["optimizerState"], 3],
  ["Activations", ["activation", "temporary"], 6],
  ["Buffers", ["allGather", "reduceScatter"], 2],
];

/** Returns what a comparison of sharding plans tells: a row for each, the difference to the first, and which is best. Its records are the rows in bytes. */
export function shardingsDocument(
  comparison: ShardingComparison,
  { units = "auto" }: { readonly units?: SizeUnit } = {},
): OutputDocument {
  const { model, outcomes, memoryBytes, best, reason } = comparison;
  const size = sizeFormat(units);
  const [, first] = outcomes;
  const hasOffload = outcomes.some(({ plan }) => plan?.cpuOffload === true);
  const fits = (peakBytes: number): readonly string[] =>
    memoryBytes === undefined ? [] : [peakBytes <= memoryBytes ? "yes" : "no"];
  return {
    parts: () => [
      {
        kind: "text",
        lines: [
          `${model}: what one rank holds at its peak, and receives from others in a step`,
          `best: ${best.name} (${reason}): ${size(best.peakBytes)}, ${size(receivedBytes(best.communication))} received`,
        ],
      },
      {
        kind: "table",
        headers: [
          "Plan",
          "Peak",
          "To the first",
          ...(memoryBytes === undefined ? [] : ["Fits"]),
          "Received",
          ...columns.map(([header]) => header),
          ...(hasOffload ? ["Elsewhere"] : []),
        ],
        worth: [
          12,
          11,
          9,
          ...(memoryBytes === undefined ? [] : [10]),
          8,
          ...columns.map(([, , worth]) => worth),
          ...(hasOffload ? [1] : []),
        ],
        rows: outcomes.map((outcome) => [
          outcome.name,
          size(outcome.peakBytes),
          outcome.plan === undefined || outcome === first ? "" : difference(outcome.peakBytes / first.peakBytes - 1),
          ...fits(outcome.peakBytes),
          outcome.plan === undefined ? "" : size(receivedBytes(outcome.communication)),
          ...columns.map(([, categories]) => size(held(outcome, categories))),
          ...(hasOffload ? [outcome.plan?.cpuOffload === true ? heldBeside(outcome, size) : ""] : []),
        ]),
      },
    ],
    records: () => ({
      columns: ["plan", "peakBytes", "fits", "allGatherBytes", "reduceScatterBytes", "allReduceBytes"],
      rows: outcomes.map(({ name, peakBytes, communication }) => [
        name,
        peakBytes,
        memoryBytes === undefined ? "" : String(peakBytes <= memoryBytes),
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
      plans: outcomes.map(({ elsewhere, ...outcome }) => ({ ...outcome, elsewhere: Object.fromEntries(elsewhere) })),
    }),
  };
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
