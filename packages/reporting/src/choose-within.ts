import type { CheckpointPolicy } from "@remat/memory/checkpointing";
import { formatMs, formatOverhead, formatPercent } from "./format-quantity.js";
import { type SizeUnit, sizeFormat } from "./size-unit.js";

/** One choice between memory and time for a whole step. */
export interface PlanChoice {
  readonly peakBytes: number;
  readonly stepMs: number;
  /** Time beyond that of running every op once, as a fraction of it. */
  readonly overhead: number;
  /** How much cheaper a plan within as many bytes could be at most, as a fraction of its time; undefined where nobody can say. */
  readonly gap: number | undefined;
  /** Of PyTorch: what it checkpoints. */
  readonly policy?: CheckpointPolicy;
}

/** What a budget comes to: the plan that is quickest within it, of equally quick ones the smallest, or none. */
export interface PlanWithin<Point extends PlanChoice> {
  readonly budgetBytes: number;
  /** Undefined where nothing known is within the budget. */
  readonly point: Point | undefined;
  /** What holds least of all that is known. */
  readonly smallest: Point | undefined;
}

/** Returns which of several plans a budget chooses. @example `chooseWithin(front, 2e9).point?.overhead` */
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

/** Returns plans by falling peak, without those that another one beats in both, so that more time always buys memory. */
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

/** A search is told of as unfinished where a plan could be quicker by more than this. */
const worthSearching = 0.01;

export interface DescribePlanWithinOptions {
  /** The most that the step holds as it was recorded. */
  readonly recordedPeakBytes: number;
  readonly units?: SizeUnit | undefined;
}

/** More modules than these are counted. */
const modulesNamed = 4;

/** Returns which modules a policy checkpoints, in words. @example "layers.0, layers.1.mlp and 3 more modules" */
export function describeCheckpointed(policy: CheckpointPolicy): string {
  const names = [...new Set(policy.map(({ fqn }) => fqn || "the model"))];
  if (names.length === 0) return "nothing";
  const more = names.length - modulesNamed;
  return more <= 0 ? names.join(", ") : `${names.slice(0, modulesNamed).join(", ")} and ${more} more modules`;
}

/** Returns what to say of a budget: what the plan within it holds and costs, or that there is none; and whether longer search may find more. */
export function describePlanWithin(
  { budgetBytes, point, smallest }: PlanWithin<PlanChoice>,
  { recordedPeakBytes, units }: DescribePlanWithinOptions,
): readonly string[] {
  const size = sizeFormat(units);
  if (point === undefined) {
    const nothing = `Nothing was found within ${size(budgetBytes)}.`;
    if (smallest === undefined) return [nothing];
    return [
      `${nothing} The smallest found is ${size(smallest.peakBytes)}, for ${formatOverhead(smallest.overhead)} more time.`,
      "A longer search may find less: remat plan --time 60.",
    ];
  }
  const { peakBytes, overhead, stepMs, gap, policy } = point;
  const change = recordedPeakBytes > 0 ? peakBytes / recordedPeakBytes - 1 : 0;
  const held = `${size(peakBytes)} at the peak${change === 0 ? "" : `, ${formatPercent(Math.abs(change))} ${change < 0 ? "less" : "more"} than as recorded`}`;
  const cost = overhead === 0 ? "no more time" : `${formatOverhead(overhead)} more time`;
  return [
    `${held}; ${cost}, ${formatMs(stepMs)} a step.`,
    ...(policy === undefined ? [] : [`Under torch.utils.checkpoint: ${describeCheckpointed(policy)}.`]),
    ...(gap !== undefined && gap > worthSearching
      ? [`Not proven: a plan within as much could take up to ${formatPercent(gap)} less time.`]
      : []),
  ];
}
