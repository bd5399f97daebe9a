import type { FitStep, FitUnit } from "../fit-unit.js";
import type { StepsToFit } from "../steps-to-fit.js";
import type { PlanBound } from "../ways/fit-way.js";
import { fitWay } from "../ways/fit-ways.js";
import { microBatchesOf } from "../ways/sharded.js";

const noBound: PlanBound = { leastBytes: 0, leastMs: undefined };

/**
 * Stores the batches that were tried for a unit. Each batch is planned once. As long as it does not fit, it can be
 * planned again with more effort.
 */
export class TriedSteps {
  /** The smallest batch that provably has no plan that fits, or undefined if there is no proof for any batch. */
  impossibleFrom: number | undefined;
  private readonly known = new Map<number, { readonly step: FitStep; readonly effort: number }>();
  private readonly bounds = new Map<number, PlanBound>();
  private readonly libraryBytes = new Map<number, number>();
  private readonly unit: FitUnit;
  private readonly steps: StepsToFit;
  private readonly onTried: ((batch: number) => void) | undefined;

  constructor(unit: FitUnit, steps: StepsToFit, onTried?: (batch: number) => void) {
    this.unit = unit;
    this.steps = steps;
    this.onTried = onTried;
  }

  async at(batch: number, effort = 1): Promise<FitStep> {
    const known = this.known.get(batch);
    if (known !== undefined && (known.effort >= effort || fits(known.step, this.unit))) return known.step;
    this.onTried?.(batch);
    const libraryBytes = await this.libraryBytesAt(batch);
    // A budget of one byte is as impossible as a budget of none.
    const unit = { ...this.unit, memoryBytes: Math.max(1, this.unit.memoryBytes - libraryBytes) };
    const found = await fitWay(unit.configuration.way).stepWith(unit, this.steps, batch, effort);
    const step = libraryBytes === 0 ? found : { ...found, libraryBytes };
    this.known.set(batch, { step, effort });
    return step;
  }

  /** Returns lower bounds on all plans for a batch, including the memory of kernels. */
  async boundOf(batch: number): Promise<PlanBound> {
    const { boundOf } = fitWay(this.unit.configuration.way);
    const known = this.bounds.get(batch);
    if (known !== undefined) return known;
    const { leastBytes, leastMs } = (await boundOf?.(this.unit, this.steps, batch)) ?? noBound;
    const bound = { leastBytes: leastBytes + (await this.libraryBytesAt(batch)), leastMs };
    this.bounds.set(batch, bound);
    return bound;
  }

  private async libraryBytesAt(batch: number): Promise<number> {
    const { spec, configuration } = this.unit;
    const known = this.libraryBytes.get(batch);
    if (known !== undefined || this.steps.libraryBytesAt === undefined) return known ?? 0;
    const bytes = await this.steps.libraryBytesAt(batch, configuration.optimizer, spec);
    this.libraryBytes.set(batch, bytes);
    return bytes;
  }

  has(batch: number): boolean {
    return this.known.has(batch);
  }

  /** Returns the effort with which a batch was tried. */
  effortOf(batch: number): number {
    return this.known.get(batch)?.effort ?? 1;
  }

  /** Returns the largest step that fits. */
  get largestFitting(): FitStep | undefined {
    return largest(this.of(true));
  }

  /**
   * Returns the smallest step that does not fit and is larger than a batch. If a larger step fits, a step does not
   * count, because a plan for it exists even if none was found. With several passes it does count, because a step with
   * fewer samples per pass may need more memory.
   */
  notFittingAbove(batch: number): FitStep | undefined {
    const above = (floor: number): FitStep | undefined => smallest(this.of(false).filter((step) => step.batch > floor));
    const beyond = above(Math.max(batch, this.largestFitting?.batch ?? 0));
    return beyond ?? (this.unit.globalBatch === undefined ? undefined : above(batch));
  }

  private of(isFitting: boolean): FitStep[] {
    return [...this.known.values()].map(({ step }) => step).filter((step) => fits(step, this.unit) === isFitting);
  }
}

function smallest(steps: readonly FitStep[]): FitStep | undefined {
  return steps.reduce<FitStep | undefined>((a, b) => (a === undefined || b.batch < a.batch ? b : a), undefined);
}

function largest(steps: readonly FitStep[]): FitStep | undefined {
  return steps.reduce<FitStep | undefined>((a, b) => (a === undefined || b.batch > a.batch ? b : a), undefined);
}

/** Returns whether a step stays within a unit's memory and time. */
export function fits(step: FitStep, { memoryBytes, maxOverhead }: FitUnit): boolean {
  return neededBytes(step) <= memoryBytes && step.overhead <= maxOverhead;
}

/** Returns the memory that a step needs: its peak, and the memory of kernels that is not in tensors. */
export function neededBytes({ peakBytes, libraryBytes = 0 }: Pick<FitStep, "peakBytes" | "libraryBytes">): number {
  return peakBytes + libraryBytes;
}

/** Returns the samples per second of all ranks, or undefined if ops have no times. */
export function samplesPerSecondOf(
  unit: FitUnit,
  { batch, stepMs }: Pick<FitStep, "batch" | "stepMs">,
): number | undefined {
  const passes = microBatchesOf(unit, batch) ?? 1;
  return stepMs === undefined ? undefined : (1000 * batch * passes * unit.configuration.ranks) / stepMs;
}
