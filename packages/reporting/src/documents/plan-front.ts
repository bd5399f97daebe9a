import type { CsvCell as Cell } from "@remat/trace/emit";
import { formatOverhead, formatPercent } from "../format-quantity.js";
import type { DocumentRecords } from "../formats/output-document.js";
import type { SizeFormat } from "../size-unit.js";

/** One point of a front between memory and time. */
export interface FrontPoint {
  /** The budget of the search. */
  readonly budgetBytes: number;
  readonly peakBytes: number;
  /** Milliseconds for a trace. For a graph, the unit of its file. */
  readonly cost: number;
  /** Extra cost as a fraction of running everything once. */
  readonly overhead: number;
  readonly lowerBound: number;
  readonly gap: number;
}

/** Trade-offs between memory and time, by falling budget, and the three recommended ones. */
export interface PlanFront {
  readonly points: readonly FrontPoint[];
  readonly recommended: {
    readonly noCost: FrontPoint;
    readonly within5Percent: FrontPoint;
    readonly within20Percent: FrontPoint;
  };
}

const recommendedNames = {
  noCost: "no slowdown",
  within5Percent: "at most 5%",
  within20Percent: "at most 20%",
} as const;

/**
 * Returns the rows of the front's two tables.
 *
 * @internal
 */
export function frontTables(
  { points, recommended }: PlanFront,
  referenceBytes: number,
  formatCost: (cost: number) => string,
  size: SizeFormat,
): { headers: readonly string[]; points: readonly string[][]; recommended: readonly string[][] } {
  const cells = (point: FrontPoint): string[] => [
    size(point.peakBytes),
    formatPercent(point.peakBytes / referenceBytes),
    formatCost(point.cost),
    formatOverhead(point.overhead),
    formatOverhead(point.gap),
  ];
  return {
    headers: ["Peak", "Of baseline", "Cost", "Overhead", "Optimality gap"],
    points: points.map((point) => [size(point.budgetBytes), ...cells(point)]),
    recommended: (["noCost", "within5Percent", "within20Percent"] as const).map((name) => [
      recommendedNames[name],
      ...cells(recommended[name]),
    ]),
  };
}

/**
 * Returns one row for each point. Recommended points have names.
 *
 * @internal
 */
export function frontRecords({ points, recommended }: PlanFront): DocumentRecords {
  const row = (name: string, p: FrontPoint): Cell[] => [
    name,
    p.budgetBytes,
    p.peakBytes,
    p.cost,
    p.overhead,
    p.lowerBound,
    p.gap,
  ];
  return {
    columns: ["point", "budgetBytes", "peakBytes", "cost", "overhead", "lowerBound", "gap"],
    rows: [
      ...points.map((point, i) => row(String(i + 1), point)),
      ...Object.entries(recommended).map(([name, point]) => row(name, point)),
    ],
  };
}
