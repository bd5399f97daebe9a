import type { FitStep, FitUnit } from "../fit-unit.js";
import type { StepsToFit } from "../steps-to-fit.js";
import { fitWay } from "../ways/fit-ways.js";
import { microBatchesOf } from "../ways/sharded.js";

/** The batches that were tried for a unit: each is asked for once. */
export class TriedSteps {
  private readonly known = new Map<number, FitStep>();
  private readonly unit: FitUnit;
  private readonly steps: StepsToFit;
  private readonly onTried: ((batch: number) => void) | undefined;

  constructor(unit: FitUnit, steps: StepsToFit, onTried?: (batch: number) => void) {
    this.unit = unit;
    this.steps = steps;
    this.onTried = onTried;
  }

  async at(batch: number): Promise<FitStep> {
    const known = this.known.get(batch);
    if (known !== undefined) return known;
    this.onTried?.(batch);
    const step = await fitWay(this.unit.configuration.way).stepWith(this.unit, this.steps, batch);
    this.known.set(batch, step);
    return step;
  }

  has(batch: number): boolean {
    return this.known.has(batch);
  }

  /** The smallest of those that do not fit. */
  get notFitting(): FitStep | undefined {
    const over = [...this.known.values()].filter((step) => !fits(step, this.unit));
    return over.reduce<FitStep | undefined>((a, b) => (a === undefined || b.batch < a.batch ? b : a), undefined);
  }
}

/** Tells whether a step keeps to a unit's memory, and to its time. */
export function fits({ peakBytes, overhead }: FitStep, { memoryBytes, maxOverhead }: FitUnit): boolean {
  return peakBytes <= memoryBytes && overhead <= maxOverhead;
}

/** Returns how many samples all ranks take in a second; undefined where ops have no times. */
export function samplesPerSecondOf(unit: FitUnit, { batch, stepMs }: FitStep): number | undefined {
  const passes = microBatchesOf(unit, batch) ?? 1;
  return stepMs === undefined ? undefined : (1000 * batch * passes * unit.configuration.ranks) / stepMs;
}
