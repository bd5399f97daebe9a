import type { FitStep, FitUnit, FitWayName } from "../fit-unit.js";
import type { StepsToFit } from "../steps-to-fit.js";

/** A way to take a step: what a file of this folder exports, and `fit-ways.ts` lists. */
export interface FitWay {
  readonly name: FitWayName;
  /** For help. */
  readonly purpose: string;
  /** Whether a plan is looked for within the memory that there is, so that what a step holds depends on that. */
  readonly isPlanned: (unit: FitUnit) => boolean;
  /** Tells why it is no way for these steps; undefined: it is one. */
  refuses(unit: FitUnit, steps: StepsToFit): string | undefined;
  /** Returns what a step takes, with so many times the changes that a unit says: of one that is planned the best plan found within the unit's memory, else what holds least of all that was found. */
  stepWith(unit: FitUnit, steps: StepsToFit, batch: number, effort: number): Promise<FitStep>;
  /** Of one that is planned: what no plan goes below. */
  boundOf?(unit: FitUnit, steps: StepsToFit, batch: number): Promise<PlanBound>;
}

/** What no plan of a step goes below. */
export interface PlanBound {
  readonly leastBytes: number;
  /** Undefined where ops have no times. */
  readonly leastMs: number | undefined;
}
