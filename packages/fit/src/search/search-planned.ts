import { largestFittingBatch } from "@remat/reporting/ways-to-fit";
import type { FitStep, FitUnit } from "../fit-unit.js";
import { fits, samplesPerSecondOf, type TriedSteps } from "./tried-steps.js";

/** Of a batch: what is between two that were tried is not looked for, unless the largest is what is asked for. */
const usualTolerance = 0.02;

/** What is found of one batch is not always found of the one before. */
const mostMisses = 3;

/**
 * Finds the batch with the most samples a second where a plan pays for memory with time: first the largest that fits, by halving what is between the largest that does
 * and the smallest that does not, to 2 % of a batch, or to one sample where the largest batch is what is asked for. What a search finds depends on how long it looks: beyond the largest batch that
 * was found others are looked for with more and more effort, up to the smallest that is proven to be too large, as long as one of them could be better. Then by branch and bound: no batch takes
 * more samples a second than one at least as large that recomputes nothing, so what lies between two batches is left out where that is no more than the best found. Undefined where the smallest
 * batch does not fit.
 *
 * @param unit whose batches are those that may be taken
 */
export async function searchPlanned(unit: FitUnit, tried: TriedSteps): Promise<FitStep | undefined> {
  const { batches, objective, efforts } = unit;
  const tolerance = objective === "batch" ? 0 : usualTolerance;
  const fitting = new Map<number, FitStep>();
  /** Of which no plan was found so far. */
  const missed = new Set<number>();
  const tryAt = async (index: number, effort = 1): Promise<boolean> => {
    const step = await tried.at(batches[index], effort);
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
    batches[Math.min(overAt, batches.length - 1)] - batches[fitsAt] > tolerance * batches[fitsAt];
  // Doubled until it is too much, so that no batch is planned that is far too large.
  for (let at = 1; overAt === impossibleAt && fitsAt < overAt - 1; ) {
    at = Math.min(at, overAt - 1);
    if (await tryAt(at)) fitsAt = at;
    else overAt = at;
    at = nextIndex(batches, 2 * batches[fitsAt], fitsAt);
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
  // The last takes long: it goes on from what is there, by longer and longer strides, and past a few that it misses.
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
  // So that there is something to say of it.
  if (next < batches.length && !tried.has(batches[next])) await tryAt(next);
  overAt = Math.min(impossibleAt, ...[...missed].filter((index) => index > fitsAt));
  for (let more = 0; objective !== "batch" && more < unit.morePlans; more++) {
    const between = largestAtNoCost(fitting, overAt) ?? mostPromising(unit, fitting, tried);
    if (between === undefined) break;
    if (!(await tryAt(between))) overAt = Math.min(overAt, between);
  }
  return objective === "batch" ? fitting.get(fitsAt) : bestOf(unit, fitting);
}

/** Tries the smallest batch with more and more effort; undefined where it does not fit. */
export async function trySmallest(unit: FitUnit, tried: TriedSteps): Promise<FitStep | undefined> {
  const [batch] = unit.batches;
  for (const effort of [1, ...unit.efforts]) {
    const step = await tried.at(batch, effort);
    if (fits(step, unit)) return step;
    if (batch === tried.impossibleFrom) break;
  }
  return undefined;
}

/** Finds the index of the smallest batch of which it is proven that no plan fits: what no plan holds less than never falls with the batch. One more than there are where nothing is proven of any. */
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

/** Whether a batch, or one that is smaller, could be better than all that were found: without recomputation by more than the tolerance. */
async function couldBeBetter(
  unit: FitUnit,
  fitting: ReadonlyMap<number, FitStep>,
  tried: TriedSteps,
  index: number,
): Promise<boolean> {
  if (unit.objective === "batch") return true;
  const batch = unit.batches[index];
  const { leastMs } = await tried.boundOf(batch);
  return rateOf(unit, { batch, stepMs: leastMs }) > (1 + usualTolerance) * rateOf(unit, bestOf(unit, fitting)!);
}

/** The first batch of at least so many samples, after `index`. */
function nextIndex(batches: readonly number[], samples: number, index: number): number {
  const found = batches.findIndex((batch, i) => i > index && batch >= samples);
  return found < 0 ? batches.length - 1 : found;
}

function bestOf(unit: FitUnit, fitting: ReadonlyMap<number, FitStep>): FitStep | undefined {
  return [...fitting.values()]
    .sort((a, b) => a.batch - b.batch)
    .reduce((best, step) => (rateOf(unit, step) > rateOf(unit, best) ? step : best));
}

/** Where ops have no times, more samples are better. */
function rateOf(unit: FitUnit, step: Pick<FitStep, "batch" | "stepMs">): number {
  return samplesPerSecondOf(unit, step) ?? step.batch;
}

/**
 * The middle between the largest batch that a plan takes no time of and the smallest above that one does, or that does not fit; undefined where nothing is between them. A sample's time hardly
 * falls with the batch, and a plan's rises: the best is mostly there.
 */
function largestAtNoCost(fitting: ReadonlyMap<number, FitStep>, overAt: number): number | undefined {
  const isFree = (index: number): boolean => fitting.get(index)!.overhead === 0;
  const indices = [...fitting.keys()];
  const free = Math.max(...indices.filter(isFree), -1);
  const paid = Math.min(...indices.filter((index) => index > free && !isFree(index)), overAt);
  return free >= 0 && paid - free > 1 ? (free + paid) >> 1 : undefined;
}

/** A batch between two that fit where there may be the most above the best; undefined where there is none. */
function mostPromising(unit: FitUnit, fitting: ReadonlyMap<number, FitStep>, tried: TriedSteps): number | undefined {
  const best = rateOf(unit, bestOf(unit, fitting)!);
  const indices = [...fitting.keys()].sort((a, b) => a - b);
  let found: number | undefined;
  let most = best;
  for (let i = 1; i < indices.length; i++) {
    const right = fitting.get(indices[i])!;
    const bound = rateOf(unit, right) * (1 + right.overhead);
    if (bound <= most) continue;
    const open: number[] = [];
    for (let at = indices[i - 1] + 1; at < indices[i]; at++) if (!tried.has(unit.batches[at])) open.push(at);
    if (open.length === 0) continue;
    most = bound;
    found = open[open.length >> 1];
  }
  return found;
}
