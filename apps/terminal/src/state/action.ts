import type { Verdict } from "@remat/reporting/verdict";
import type { Trace } from "@remat/trace";
import type { StepAtHand } from "../document/step-at-hand.js";
import type { TraceDocument } from "../document/trace-document.js";
import type { ClickTarget } from "../text/drawn.js";
import type { AppState, ScreenSize } from "./app-state.js";
import type { Command } from "./command.js";
import type { Opened, SavedView, StartEntry } from "./opened.js";
import type { ViewAnswer } from "./work.js";

/** Everything that can happen to the app. */
export type Action =
  | { readonly kind: "key"; readonly key: string }
  | { readonly kind: "click"; readonly target: ClickTarget }
  | { readonly kind: "wheel"; readonly steps: 1 | -1 }
  | { readonly kind: "resize"; readonly size: ScreenSize }
  | { readonly kind: "open"; readonly targets: readonly string[] }
  | { readonly kind: "opening"; readonly id: number; readonly title: string; readonly text: string }
  | { readonly kind: "opened"; readonly id: number; readonly opened: Opened; readonly saved: SavedView }
  | { readonly kind: "allOpened"; readonly id: number }
  | { readonly kind: "notOpened"; readonly id: number; readonly reason: string }
  /** A trace that is already loaded. */
  | {
      readonly kind: "show";
      readonly title: string;
      readonly path: string | undefined;
      readonly trace: Trace;
      readonly isModel?: boolean;
      readonly atHand?: StepAtHand;
      readonly saved: SavedView;
    }
  /** The full verdict on a document is known. */
  | { readonly kind: "judged"; readonly document: TraceDocument; readonly verdict: Verdict }
  | { readonly kind: "compareWith"; readonly title: string; readonly path: string | undefined; readonly trace: Trace }
  | { readonly kind: "select"; readonly module: string }
  | { readonly kind: "entries"; readonly entries: readonly StartEntry[] }
  | { readonly kind: "written"; readonly path: string }
  | { readonly kind: "notWritten"; readonly name: string; readonly reason: string }
  | { readonly kind: "answer"; readonly view: string; readonly answer: ViewAnswer }
  /** Saves the state, since the app is about to end. */
  | { readonly kind: "keep" };

/** Result of an action: the new state, and commands to run. */
export interface Step {
  readonly state: AppState;
  readonly commands: readonly Command[];
}
