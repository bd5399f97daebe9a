import type { FitStep, FitUnit, FitWayName } from "../fit-unit.js";
import type { StepsToFit } from "../steps-to-fit.js";

/** A strategy to run a step. Each file in this folder exports one, and `fit-ways.ts` lists them. */
export interface FitWay {
  readonly name: FitWayName;
  /** The purpose in one line, for help. */
  readonly purpose: string;
  /**
   * Returns whether the strategy searches for a plan within the available memory. A step's memory then depends on the
   * available memory.
   */
  readonly isPlanned: (unit: FitUnit) => boolean;
  /** Returns the reason why the strategy does not apply to these steps, or undefined if it does. */
  refuses(unit: FitUnit, steps: StepsToFit): string | undefined;
  /**
   * Returns a step. A search for its plan tries the unit's number of changes times `effort`. A planned strategy returns
   * the best plan found within the unit's memory. If there is none, it returns the step with the smallest peak found.
   */
  stepWith(unit: FitUnit, steps: StepsToFit, batch: number, effort: number): Promise<FitStep>;
  /** For a planned strategy, returns lower bounds on all plans. */
  boundOf?(unit: FitUnit, steps: StepsToFit, batch: number): Promise<PlanBound>;
}

/** Lower bounds on all plans of a step. */
export interface PlanBound {
  readonly leastBytes: number;
  /** A lower bound on the time of a step, in milliseconds. Undefined if ops have no times. */
  readonly leastMs: number | undefined;
}
