import { largestFittingBatch } from "@remat/reporting/ways-to-fit";
import { type CategoryName, itemAt, RematError } from "@remat/trace";
import type { BatchRange, FitAnswer, FitRow, FitStep, FitUnit, NotFitting } from "../fit-unit.js";
import type { StepsToFit } from "../steps-to-fit.js";
import { fitWay } from "../ways/fit-ways.js";
import { isSharded, microBatchesOf, refusesOptimizer } from "../ways/sharded.js";
import { firstImpossible, searchPlanned, trySmallest } from "./search-planned.js";
import { fits, neededBytes, samplesPerSecondOf, TriedSteps } from "./tried-steps.js";

/**
 * Finds the best batch of one configuration.
 *
 * For the objective `memory` it is the smallest batch. Otherwise it is the largest batch that fits, since the time per
 * sample never rises with the batch. For strategies that recompute or offload, it is the batch with the most samples
 * per second.
 *
 * @throws RematError any error of `steps`. An impossible configuration is not an error: it is returned as an answer
 * @example
 * const answer = await fitUnitBatch(unit, stepsOfRuns([{ name: "run.json", trace }]));
 */
export async function fitUnitBatch(
  unit: FitUnit,
  steps: StepsToFit,
  onTried?: (batch: number) => void,
): Promise<FitAnswer> {
  const { configuration } = unit;
  const way = fitWay(configuration.way);
  const reason = refusesOptimizer(unit) ?? way.refuses(unit, steps);
  if (reason !== undefined) return { kind: "refused", configuration, reason };
  // TensorFlow.js cannot accumulate gradients, so there is one pass per update.
  const mostPasses = steps.framework === "tfjs" && !isSharded(unit) ? 1 : Number.POSITIVE_INFINITY;
  const batches = unit.batches.filter((batch) => (microBatchesOf(unit, batch) ?? Number.NaN) <= mostPasses);
  if (batches.length === 0)
    return {
      kind: "refused",
      configuration,
      reason: `no batch of ${describeBatches(unit.batches)} on ${configuration.ranks === 1 ? "one device" : `${configuration.ranks} ranks`} makes up ${unit.globalBatch} samples${mostPasses === 1 ? " in one pass, and TensorFlow.js updates weights after every pass" : ""}`,
    };
  try {
    const among = { ...unit, batches };
    const tried = new TriedSteps(unit, steps, onTried);
    const quick = await steps.scaled?.(configuration.optimizer);
    const best =
      (quick && (await confirmed(among, tried, new TriedSteps(unit, quick)))) ?? (await bestOf(among, tried));
    if (best === undefined)
      return { kind: "not-fitting", configuration, smallest: notFitting(tried.notFittingAbove(0)!, among, tried) };
    return { kind: "fits", row: rowOf(among, best, tried) };
  } catch (error) {
    if (!(error instanceof RematError && saysImpossible.test(error.code))) throw error;
    return { kind: "refused", configuration, reason: error.message };
  }
}

/** Codes of errors for an impossible plan or run. */
const saysImpossible = /^(SHARDING_PLAN|TRACE_[A-Z_]+)$/;

/**
 * Returns the step that a search over scaled steps finds, if the real steps agree on it and on the next batches.
 * Returns undefined if they do not agree, or if nothing was found.
 */
async function confirmed(unit: FitUnit, tried: TriedSteps, scaled: TriedSteps): Promise<FitStep | undefined> {
  const found = await bestOf(unit, scaled);
  if (found === undefined) return undefined;
  const { largestFitting, impossibleFrom } = scaled;
  const guesses = [found, largestFitting, scaled.notFittingAbove(found.batch)];
  for (const guess of guesses.filter((step) => step !== undefined)) {
    const { peakBytes, overhead } = await tried.at(guess.batch, scaled.effortOf(guess.batch));
    if (peakBytes !== guess.peakBytes || Math.abs(overhead - guess.overhead) > sameOverhead) return undefined;
  }
  if (impossibleFrom !== undefined && (await tried.boundOf(impossibleFrom)).leastBytes <= unit.memoryBytes)
    return undefined;
  tried.impossibleFrom = impossibleFrom;
  return tried.at(found.batch);
}

/** Overheads that differ by at most this much count as equal, because they may be sums in another order. */
const sameOverhead = 1e-9;

/**
 * Returns the best step. It tries a step in one pass separately. Such a step needs no gradients of earlier passes, so
 * it may take less memory than a smaller batch in several passes.
 */
async function bestOf(unit: FitUnit, tried: TriedSteps): Promise<FitStep | undefined> {
  const { batches, objective } = unit;
  const last = batches.at(-1)!;
  if (batches.length === 1 || unit.globalBatch === undefined || microBatchesOf(unit, last) !== 1)
    return bestAmong(unit, tried);
  const whole = await tried.at(last);
  if (!fits(whole, unit)) return bestAmong({ ...unit, batches: batches.slice(0, -1) }, tried);
  if (objective === "batch") return whole;
  const passes = await bestAmong({ ...unit, batches: batches.slice(0, -1) }, tried);
  if (passes === undefined) return whole;
  const aim = (step: FitStep): number =>
    objective === "memory" ? step.peakBytes : -(samplesPerSecondOf(unit, step) ?? step.batch);
  return aim(passes) < aim(whole) ? passes : whole;
}

async function bestAmong(unit: FitUnit, tried: TriedSteps): Promise<FitStep | undefined> {
  const { batches, memoryBytes, objective, configuration } = unit;
  const isPlanned = fitWay(configuration.way).isPlanned(unit);
  if (isPlanned && objective !== "memory") return searchPlanned(unit, tried);
  const smallest = await tried.at(itemAt(batches, 0));
  if (objective === "memory") {
    if (fits(smallest, unit) || !isPlanned) return fits(smallest, unit) ? smallest : undefined;
    await firstImpossible(unit, tried);
    return trySmallest(unit, tried);
  }
  if (smallest.overhead > unit.maxOverhead) return undefined;
  const found = await largestFittingBatch(
    smallest.batch,
    neededBytes(smallest),
    memoryBytes,
    async (batch) => neededBytes(await tried.at(batch)),
    { batches },
  );
  return found && (await tried.at(found.batch));
}

function rowOf(unit: FitUnit, step: FitStep, tried: TriedSteps): FitRow {
  const over = tried.notFittingAbove(step.batch);
  // With a global batch, the last batch already makes up a whole step.
  const endsRange = unit.globalBatch === undefined && unit.batches.length > 1 && step.batch === unit.batches.at(-1);
  return {
    ...step,
    configuration: unit.configuration,
    memoryBytes: unit.memoryBytes - (step.libraryBytes ?? 0),
    microBatches: microBatchesOf(unit, step.batch) ?? 1,
    samplesPerSecond: samplesPerSecondOf(unit, step),
    ...(endsRange && { endsRange }),
    next: over && notFitting(over, unit, tried),
  };
}

function notFitting(step: FitStep, unit: FitUnit, tried: TriedSteps): NotFitting {
  const { batch, peakBytes, libraryBytes, bytesByCategory } = step;
  const isProven =
    !fitWay(unit.configuration.way).isPlanned(unit) || batch >= (tried.impossibleFrom ?? Number.POSITIVE_INFINITY);
  const unproven = unprovenOf(unit, tried);
  const proof = { isProven, ...(unproven !== undefined && { unproven }) };
  const found = { batch, peakBytes, ...(libraryBytes !== undefined && { libraryBytes }), ...proof };
  if (neededBytes(step) <= unit.memoryBytes) return { ...found, binds: "time", bindsBytes: 0 };
  const categories = (Object.entries(bytesByCategory) as [CategoryName, number][]).sort((a, b) => b[1] - a[1]);
  const [binds, bindsBytes] = itemAt(categories, 0);
  return { ...found, binds, bindsBytes };
}

/**
 * For a planned strategy, returns the batches between the largest batch with a plan and the smallest one that is proven
 * to have none.
 */
function unprovenOf(unit: FitUnit, { largestFitting, impossibleFrom }: TriedSteps): BatchRange | undefined {
  if (!fitWay(unit.configuration.way).isPlanned(unit)) return undefined;
  const [from, ...more] = unit.batches.filter(
    (batch) => batch > (largestFitting?.batch ?? 0) && batch < (impossibleFrom ?? Number.POSITIVE_INFINITY),
  );
  return from === undefined ? undefined : { from, to: more.at(-1) ?? from };
}

function describeBatches(batches: readonly number[]): string {
  return batches.length > 3 ? `${batches[0]} to ${batches.at(-1)}` : batches.join(", ");
}
