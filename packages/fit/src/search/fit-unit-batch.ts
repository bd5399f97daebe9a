import { largestFittingBatch } from "@remat/reporting/ways-to-fit";
import { type CategoryName, RematError } from "@remat/trace";
import type { FitAnswer, FitRow, FitStep, FitUnit, NotFitting } from "../fit-unit.js";
import type { StepsToFit } from "../steps-to-fit.js";
import { fitWay } from "../ways/fit-ways.js";
import { isSharded, microBatchesOf } from "../ways/sharded.js";
import { searchPlanned } from "./search-planned.js";
import { fits, samplesPerSecondOf, TriedSteps } from "./tried-steps.js";

/**
 * Finds for one configuration the batch that is best: for memory the smallest, else the largest that fits, since the time of a sample never rises with
 * the batch, or, where a plan pays for it with time, the one with the most samples a second.
 *
 * @throws RematError what the steps throw, but for what says that a configuration cannot be, which is an answer
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
  const reason = way.refuses(unit, steps);
  if (reason !== undefined) return { kind: "refused", configuration, reason };
  // TensorFlow.js updates after each pass.
  const mostPasses = steps.framework === "tfjs" && !isSharded(unit) ? 1 : Number.POSITIVE_INFINITY;
  const batches = unit.batches.filter((batch) => (microBatchesOf(unit, batch) ?? Number.NaN) <= mostPasses);
  if (batches.length === 0)
    return {
      kind: "refused",
      configuration,
      reason: `no batch of ${describeBatches(unit.batches)} on ${configuration.ranks === 1 ? "one device" : `${configuration.ranks} ranks`} makes up ${unit.globalBatch} samples${mostPasses === 1 ? " in one pass, and TensorFlow.js updates after each" : ""}`,
    };
  try {
    const among = { ...unit, batches };
    const tried = new TriedSteps(unit, steps, onTried);
    const quick = await steps.scaled?.(configuration.optimizer);
    const best =
      (quick && (await confirmed(among, tried, new TriedSteps(unit, quick)))) ?? (await bestOf(among, tried));
    if (best === undefined)
      return { kind: "not-fitting", configuration, smallest: notFitting(tried.notFitting!, unit) };
    return { kind: "fits", row: rowOf(unit, best, tried.notFitting) };
  } catch (error) {
    if (!(error instanceof RematError && saysImpossible.test(error.code))) throw error;
    return { kind: "refused", configuration, reason: error.message };
  }
}

/** Codes of what a plan or a run cannot be asked for. */
const saysImpossible = /^(SHARDING_PLAN|TRACE_[A-Z_]+)$/;

/** What is found by scaled steps, where the steps themselves say the same of it and of what is next; undefined where they do not, or where nothing was found. */
async function confirmed(unit: FitUnit, tried: TriedSteps, scaled: TriedSteps): Promise<FitStep | undefined> {
  const found = await bestOf(unit, scaled);
  if (found === undefined) return undefined;
  const over = scaled.notFitting;
  for (const guess of over === undefined ? [found] : [found, over]) {
    const { peakBytes, overhead } = await tried.at(guess.batch);
    if (peakBytes !== guess.peakBytes || Math.abs(overhead - guess.overhead) > sameOverhead) return undefined;
  }
  return tried.at(found.batch);
}

/** Sums in another order differ so much. */
const sameOverhead = 1e-9;

/** A step in one pass holds no gradients of passes before, and may hold less than one with a smaller batch in several: it is looked at by itself. */
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
  const smallest = await tried.at(batches[0]);
  if (objective === "memory") return fits(smallest, unit) ? smallest : undefined;
  if (fitWay(configuration.way).isPlanned(unit)) return searchPlanned(unit, tried);
  if (smallest.overhead > unit.maxOverhead) return undefined;
  const found = await largestFittingBatch(
    smallest.batch,
    smallest.peakBytes,
    memoryBytes,
    async (batch) => (await tried.at(batch)).peakBytes,
    { batches },
  );
  return found && (await tried.at(found.batch));
}

function rowOf(unit: FitUnit, step: FitStep, over: FitStep | undefined): FitRow {
  return {
    ...step,
    configuration: unit.configuration,
    memoryBytes: unit.memoryBytes,
    microBatches: microBatchesOf(unit, step.batch) ?? 1,
    samplesPerSecond: samplesPerSecondOf(unit, step),
    next: over === undefined || over.batch < step.batch ? undefined : notFitting(over, unit),
  };
}

function notFitting({ batch, peakBytes, bytesByCategory }: FitStep, { memoryBytes }: FitUnit): NotFitting {
  if (peakBytes <= memoryBytes) return { batch, peakBytes, binds: "time", bindsBytes: 0 };
  const [[binds, bindsBytes]] = (Object.entries(bytesByCategory) as [CategoryName, number][]).sort(
    (a, b) => b[1] - a[1],
  );
  return { batch, peakBytes, binds, bindsBytes };
}

function describeBatches(batches: readonly number[]): string {
  return batches.length > 3 ? `${batches[0]} to ${batches.at(-1)}` : batches.join(", ");
}
