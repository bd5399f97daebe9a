import type { Plan, Trace } from "@remat/trace";
import type { StepAtHand } from "../document/step-at-hand.js";

/** The content of a target from the command line or the start screen. */
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
      /** The command that applies the plan. Left out if unknown. */
      readonly following?: string | undefined;
    };

/** An entry of the start screen. */
export interface StartEntry {
  /** Display name. */
  readonly title: string;
  /** The model, trace or plan to open. */
  readonly target: string;
  /** A remark beside the title. */
  readonly note: string;
}

/** State of a trace that is saved between runs of the app. It comes from a file, so it must be checked. */
export interface SavedView {
  /** Name of the current view. */
  readonly view?: string;
  readonly module?: string;
  /** The device chosen in the app. Left out: the one that it was opened for. */
  readonly device?: string;
  /** For each view: its saved state. */
  readonly views?: Readonly<Record<string, unknown>>;
}
