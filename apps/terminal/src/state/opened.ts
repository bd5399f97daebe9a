import type { Plan, Trace } from "@remat/trace";
import type { StepAtHand } from "../document/step-at-hand.js";

/** What a name on the command line, or on the start screen, turned out to be. */
export type Opened =
  | {
      readonly kind: "trace";
      readonly title: string;
      readonly path: string;
      readonly trace: Trace;
      readonly isModel?: boolean;
      readonly atHand?: StepAtHand;
    }
  | {
      readonly kind: "plan";
      readonly title: string;
      readonly path: string;
      readonly plan: Plan;
      /** What to type to have the plan followed; left out: nothing is known. */
      readonly following?: string | undefined;
    };

/** Something that the start screen offers. */
export interface StartEntry {
  readonly title: string;
  readonly target: string;
  readonly note: string;
}

/** What is kept of a trace between two runs of the app. Where it comes from a file, anything may be in it. */
export interface SavedView {
  /** Name of the view that was on. */
  readonly view?: string;
  readonly module?: string;
  /** The device that was chosen in the app; left out: the one that it was opened for. */
  readonly device?: string;
  /** By view: what it keeps of its own. */
  readonly views?: Readonly<Record<string, unknown>>;
}
