import type { FitStep, FitUnit, FitWayName } from "../fit-unit.js";
import type { StepsToFit } from "../steps-to-fit.js";

/** A way to run a step. Each file of this folder exports one, and `fit-ways.ts` lists them. */
export interface FitWay {
  readonly name: FitWayName;
  /** The purpose in one line, for help. */
  readonly purpose: string;
  /**
   * Returns whether the way searches for a plan within the available memory, so that a step's memory depends on that.
   */
  readonly isPlanned: (unit: FitUnit) => boolean;
  /** Returns the reason why the way does not apply to these steps, or undefined if it does. */
  refuses(unit: FitUnit, steps: StepsToFit): string | undefined;
  /**
   * Returns a step, with the unit's number of changes multiplied by `effort`. A planned way returns the best plan found
   * within the unit's memory, or else the step with the smallest peak that was found.
   */
  stepWith(unit: FitUnit, steps: StepsToFit, batch: number, effort: number): Promise<FitStep>;
  /** Returns lower bounds on all plans, for a planned way. */
  boundOf?(unit: FitUnit, steps: StepsToFit, batch: number): Promise<PlanBound>;
}

/** Lower bounds on all plans of a step. */
export interface PlanBound {
  readonly leastBytes: number;
  /** Undefined if ops have no times. */
  readonly leastMs: number | undefined;
}
