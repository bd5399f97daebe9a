import { largestFittingBatch } from "@remat/reporting/ways-to-fit";
import { itemAt } from "@remat/trace";
import type { FitStep, FitUnit } from "../fit-unit.js";
import { fits, samplesPerSecondOf, type TriedSteps } from "./tried-steps.js";

/** The relative difference of batches below which the search ends, unless the largest batch is the objective. */
const usualTolerance = 0.02;

/** The number of batches without a plan that the search skips, because there may be a plan for a larger batch. */
const mostMisses = 3;

/**
 * Finds the batch with the most samples per second, for a strategy whose plans pay for memory with time. Returns
 * undefined if the smallest batch does not fit.
 *
 * The search first bisects for the largest batch that fits: to 2% of a batch, or to one sample if the largest batch is
 * the objective. Then it tries larger batches with more and more effort, because a longer search may find a plan. It
 * stops at the smallest batch that is proven too large, or once no larger batch could be better.
 *
 * Finally, it uses branch and bound on the batches in between. The speed of a batch without recomputation is an upper
 * bound for all smaller batches. A range whose bound is not above the best speed found is therefore skipped.
 *
 * @param unit the unit, with the batches to consider
 */
export async function searchPlanned(unit: FitUnit, tried: TriedSteps): Promise<FitStep | undefined> {
  const { batches, objective, efforts } = unit;
  const batchAt = (index: number): number => itemAt(batches, index);
  const tolerance = objective === "batch" ? 0 : usualTolerance;
  const fitting = new Map<number, FitStep>();
  /** Indices of batches for which no plan was found so far. */
  const missed = new Set<number>();
  const tryAt = async (index: number, effort = 1): Promise<boolean> => {
    const step = await tried.at(batchAt(index), effort);
    const isFitting = fits(step, unit);
    if (isFitting) {
      fitting.set(index, step);
      missed.delete(index);
    } else missed.add(index);
    return isFitting;
  };
  const impossibleAt = await firstImpossible(unit, tried);
  const first = await trySmallest(unit, tried);
  if (first === undefined) return undefined;
  fitting.set(0, first);
  let fitsAt = 0;
  let overAt = impossibleAt;
  const isWide = (): boolean =>
    overAt - fitsAt > 1 &&
    batchAt(Math.min(overAt, batches.length - 1)) - batchAt(fitsAt) > tolerance * batchAt(fitsAt);
  // The batch is doubled until it is too large, so that no far too large batch is planned.
  for (let at = 1; overAt === impossibleAt && fitsAt < overAt - 1; ) {
    at = Math.min(at, overAt - 1);
    if (await tryAt(at)) fitsAt = at;
    else overAt = at;
    at = nextIndex(batches, 2 * batchAt(fitsAt), fitsAt);
  }
  while (isWide()) {
    const middle = (fitsAt + overAt) >> 1;
    if (await tryAt(middle)) fitsAt = middle;
    else overAt = middle;
  }
  const isOpen = async (): Promise<boolean> => isWide() && couldBeBetter(unit, fitting, tried, overAt - 1);
  for (const effort of efforts.slice(0, -1)) {
    overAt = impossibleAt;
    while (await isOpen()) {
      const middle = (fitsAt + overAt) >> 1;
      if (await tryAt(middle, effort)) fitsAt = middle;
      else overAt = middle;
    }
  }
  // The last effort takes long, so it starts from the best batch, in growing strides, and skips a few that it misses.
  overAt = impossibleAt;
  for (let stride = 1, misses = 0; efforts.length > 0 && misses <= mostMisses && (await isOpen()); ) {
    const at = Math.min(fitsAt + stride + misses, impossibleAt - 1);
    if (await tryAt(at, efforts.at(-1))) {
      fitsAt = at;
      stride *= 2;
      misses = 0;
    } else if (stride > 1) stride = 1;
    else if (at === impossibleAt - 1) break;
    else misses++;
  }
  const next = Math.min(fitsAt + 1, impossibleAt);
  // The answer reports the next larger batch, so it must be tried.
  if (next < batches.length && !tried.has(batchAt(next))) await tryAt(next);
  overAt = Math.min(impossibleAt, ...[...missed].filter((index) => index > fitsAt));
  for (let more = 0; objective !== "batch" && more < unit.morePlans; more++) {
    const between = largestAtNoCost(fitting, overAt) ?? mostPromising(unit, fitting, tried);
    if (between === undefined) break;
    if (!(await tryAt(between))) overAt = Math.min(overAt, between);
  }
  return objective === "batch" ? fitting.get(fitsAt) : bestOf(unit, fitting);
}

/** Tries the smallest batch with more and more effort. Returns undefined if that batch does not fit. */
export async function trySmallest(unit: FitUnit, tried: TriedSteps): Promise<FitStep | undefined> {
  const batch = itemAt(unit.batches, 0);
  for (const effort of [1, ...unit.efforts]) {
    const step = await tried.at(batch, effort);
    if (fits(step, unit)) return step;
    if (batch === tried.impossibleFrom) break;
  }
  return undefined;
}

/**
 * Finds the index of the smallest batch that provably has no plan that fits. Bisection works, because the lower bound
 * on memory never falls with the batch. If no batch is proven too large, it returns the number of batches.
 */
export async function firstImpossible(unit: FitUnit, tried: TriedSteps): Promise<number> {
  const { batches, memoryBytes } = unit;
  const leastBytes = async (batch: number): Promise<number> => (await tried.boundOf(batch)).leastBytes;
  const last = batches.at(-1)!;
  const most = await leastBytes(last);
  if (most <= memoryBytes) return batches.length;
  const found = await largestFittingBatch(last, most, memoryBytes, leastBytes, { batches });
  const index = found === undefined ? 0 : batches.indexOf(found.batch) + 1;
  tried.impossibleFrom = batches[index];
  return index;
}

/**
 * Returns whether a batch, or a smaller one, could be better than all batches found: faster by more than the tolerance
 * if nothing were recomputed.
 */
async function couldBeBetter(
  unit: FitUnit,
  fitting: ReadonlyMap<number, FitStep>,
  tried: TriedSteps,
  index: number,
): Promise<boolean> {
  if (unit.objective === "batch") return true;
  const batch = itemAt(unit.batches, index);
  const { leastMs } = await tried.boundOf(batch);
  return rateOf(unit, { batch, stepMs: leastMs }) > (1 + usualTolerance) * rateOf(unit, bestOf(unit, fitting)!);
}

/** Returns the index of the first batch of at least `samples`, after `index`. */
function nextIndex(batches: readonly number[], samples: number, index: number): number {
  const found = batches.findIndex((batch, i) => i > index && batch >= samples);
  return found < 0 ? batches.length - 1 : found;
}

function bestOf(unit: FitUnit, fitting: ReadonlyMap<number, FitStep>): FitStep | undefined {
  return [...fitting.values()]
    .sort((a, b) => a.batch - b.batch)
    .reduce((best, step) => (rateOf(unit, step) > rateOf(unit, best) ? step : best));
}

/** Returns samples per second, or the batch if ops have no times, because more samples are better. */
function rateOf(unit: FitUnit, step: Pick<FitStep, "batch" | "stepMs">): number {
  return samplesPerSecondOf(unit, step) ?? step.batch;
}

/**
 * Returns the middle between the largest batch whose plan takes no extra time, and the next batch, whose plan takes
 * extra time or which does not fit. Returns undefined if no batch is between them. The best batch is usually there:
 * with larger batches, the time per sample hardly falls, while the time of a plan rises.
 */
function largestAtNoCost(fitting: ReadonlyMap<number, FitStep>, overAt: number): number | undefined {
  const isFree = (index: number): boolean => fitting.get(index)!.overhead === 0;
  const indices = [...fitting.keys()];
  const free = Math.max(...indices.filter(isFree), -1);
  const paid = Math.min(...indices.filter((index) => index > free && !isFree(index)), overAt);
  return free >= 0 && paid - free > 1 ? (free + paid) >> 1 : undefined;
}

/**
 * Returns an untried batch in the range whose upper bound is furthest above the best, or undefined if none exists.
 */
function mostPromising(unit: FitUnit, fitting: ReadonlyMap<number, FitStep>, tried: TriedSteps): number | undefined {
  const best = rateOf(unit, bestOf(unit, fitting)!);
  const indices = [...fitting.keys()].sort((a, b) => a - b);
  let found: number | undefined;
  let most = best;
  for (let i = 1; i < indices.length; i++) {
    const left = itemAt(indices, i - 1);
    const end = itemAt(indices, i);
    const right = fitting.get(end)!;
    const bound = rateOf(unit, right) * (1 + right.overhead);
    if (bound <= most) continue;
    const open: number[] = [];
    for (let at = left + 1; at < end; at++) if (!tried.has(itemAt(unit.batches, at))) open.push(at);
    if (open.length === 0) continue;
    most = bound;
    found = open[open.length >> 1];
  }
  return found;
}
