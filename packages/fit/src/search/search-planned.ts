import type { FitStep, FitUnit } from "../fit-unit.js";
import { fits, samplesPerSecondOf, type TriedSteps } from "./tried-steps.js";

/** Of a batch: what is between two that were tried is not looked for, unless the largest is what is asked for. */
const usualTolerance = 0.02;

/**
 * Finds the batch with the most samples a second where a plan pays for memory with time: first the largest that fits, by halving what is between the largest that does
 * and the smallest that does not, to 2 % of a batch, or to one sample where the largest batch is what is asked for; else then by branch and bound. No batch takes more samples a second than one at least as large that recomputes nothing, so what lies
 * between two batches is left out where that is no more than the best found. Undefined where the smallest batch does not fit.
 *
 * @param unit whose batches are those that may be taken
 */
export async function searchPlanned(unit: FitUnit, tried: TriedSteps): Promise<FitStep | undefined> {
  const { batches, objective } = unit;
  const tolerance = objective === "batch" ? 0 : usualTolerance;
  const fitting = new Map<number, FitStep>();
  const tryAt = async (index: number): Promise<boolean> => {
    const step = await tried.at(batches[index]);
    const isFitting = fits(step, unit);
    if (isFitting) fitting.set(index, step);
    return isFitting;
  };
  if (!(await tryAt(0))) return undefined;
  let fitsAt = 0;
  let overAt = batches.length;
  // Doubled until it is too much, so that no batch is planned that is far too large.
  for (
    let at = 1;
    overAt === batches.length && fitsAt < batches.length - 1;
    at = nextIndex(batches, 2 * batches[fitsAt], fitsAt)
  ) {
    if (await tryAt(at)) fitsAt = at;
    else overAt = at;
  }
  while (
    overAt - fitsAt > 1 &&
    batches[Math.min(overAt, batches.length - 1)] - batches[fitsAt] > tolerance * batches[fitsAt]
  ) {
    const middle = (fitsAt + overAt) >> 1;
    if (await tryAt(middle)) fitsAt = middle;
    else overAt = middle;
  }
  for (let more = 0; objective !== "batch" && more < unit.morePlans; more++) {
    const next = largestAtNoCost(fitting, overAt) ?? mostPromising(unit, fitting, tried);
    if (next === undefined) break;
    if (!(await tryAt(next))) overAt = Math.min(overAt, next);
  }
  return objective === "batch" ? fitting.get(fitsAt) : bestOf(unit, fitting);
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
function rateOf(unit: FitUnit, step: FitStep): number {
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
