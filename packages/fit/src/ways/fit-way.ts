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
  /** Returns what a step takes: of one that is planned the best plan found within the unit's memory, else what holds least of all that was found. */
  stepWith(unit: FitUnit, steps: StepsToFit, batch: number): Promise<FitStep>;
}
