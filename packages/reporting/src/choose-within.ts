import type { CheckpointPolicy } from "@remat/memory/checkpointing";
import { formatMs, formatOverhead, formatPercent } from "./format-quantity.js";
import { type SizeUnit, sizeFormat } from "./size-unit.js";

/** One trade-off between memory and time for a whole step. */
export interface PlanChoice {
  readonly peakBytes: number;
  readonly stepMs: number;
  /** Extra time as a fraction of running every op once. */
  readonly overhead: number;
  /**
   * Optimality gap: an upper bound on how much faster another plan within the same bytes could be, as a fraction of
   * this plan's time. Undefined if unknown.
   */
  readonly gap: number | undefined;
  /** The modules to checkpoint (PyTorch only). */
  readonly policy?: CheckpointPolicy;
}

/**
 * The choice for a budget: the fastest plan within it, or none. If two plans are equally fast, it is the smaller one.
 */
export interface PlanWithin<Point extends PlanChoice> {
  readonly budgetBytes: number;
  /** The fastest plan within the budget. Undefined if no known plan is within it. */
  readonly point: Point | undefined;
  /** The known plan with the lowest peak. */
  readonly smallest: Point | undefined;
}

/**
 * Returns the plan that a budget selects from several.
 *
 * @example
 * chooseWithin(front, 2e9).point?.overhead;
 */
export function chooseWithin<Point extends PlanChoice>(
  front: readonly Point[],
  budgetBytes: number,
): PlanWithin<Point> {
  let point: Point | undefined;
  let smallest: Point | undefined;
  for (const each of front) {
    if (smallest === undefined || each.peakBytes < smallest.peakBytes) smallest = each;
    if (each.peakBytes > budgetBytes) continue;
    const isBetter =
      point === undefined ||
      each.overhead < point.overhead ||
      (each.overhead === point.overhead && each.peakBytes < point.peakBytes);
    if (isBetter) point = each;
  }
  return { budgetBytes, point, smallest };
}

/**
 * Returns plans by falling peak, without plans that another plan beats in both memory and time. In the result, a plan
 * that takes more time always needs less memory.
 */
export function planFrontier<Point extends PlanChoice>(points: readonly Point[]): Point[] {
  const kept: Point[] = [];
  let least = Number.POSITIVE_INFINITY;
  for (const point of points.toSorted((a, b) => a.overhead - b.overhead || a.peakBytes - b.peakBytes)) {
    if (point.peakBytes >= least) continue;
    least = point.peakBytes;
    kept.push(point);
  }
  return kept;
}

/** A search is reported as unfinished if a plan could be faster by more than this fraction. */
const worthSearching = 0.01;

/** Options of {@link describePlanWithin}. */
export interface DescribePlanWithinOptions {
  /** Peak memory of the step as recorded. */
  readonly recordedPeakBytes: number;
  readonly units?: SizeUnit | undefined;
}

/** Maximum number of modules that are named. Further modules are only counted. */
const modulesNamed = 4;

/**
 * Lists the modules that a policy checkpoints.
 *
 * @example
 * describeCheckpointed(policy); // "layers.0, layers.1.mlp and 3 more modules"
 */
export function describeCheckpointed(policy: CheckpointPolicy): string {
  const names = [...new Set(policy.map(({ fqn }) => fqn || "the model"))];
  if (names.length === 0) return "nothing";
  const more = names.length - modulesNamed;
  return more <= 0 ? names.join(", ") : `${names.slice(0, modulesNamed).join(", ")} and ${more} more modules`;
}

/**
 * Describes a budget in words: the peak and cost of the plan within it, or the fact that there is none, and whether a
 * longer search may find a better plan.
 */
export function describePlanWithin(
  { budgetBytes, point, smallest }: PlanWithin<PlanChoice>,
  { recordedPeakBytes, units }: DescribePlanWithinOptions,
): readonly string[] {
  const size = sizeFormat(units);
  if (point === undefined) {
    const nothing = `No plan was found within ${size(budgetBytes)}.`;
    if (smallest === undefined) return [nothing];
    return [
      `${nothing} The smallest found needs ${size(smallest.peakBytes)}, with ${formatOverhead(smallest.overhead)} more time.`,
      "A longer search may find less: remat plan --time 60.",
    ];
  }
  const { peakBytes, overhead, stepMs, gap, policy } = point;
  const change = recordedPeakBytes > 0 ? peakBytes / recordedPeakBytes - 1 : 0;
  const held = `Peak memory ${size(peakBytes)}${change === 0 ? "" : `, ${formatPercent(Math.abs(change))} ${change < 0 ? "less" : "more"} than as recorded`}`;
  const cost = overhead === 0 ? "no slowdown" : `${formatOverhead(overhead)} more time`;
  return [
    `${held}; ${cost}, ${formatMs(stepMs)} per step.`,
    ...(policy === undefined ? [] : [`torch.utils.checkpoint applies to ${describeCheckpointed(policy)}.`]),
    ...(gap !== undefined && gap > worthSearching
      ? [`Not proven optimal: a plan within the same memory could take up to ${formatPercent(gap)} less time.`]
      : []),
  ];
}
