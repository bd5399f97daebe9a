import type { ViewTable } from "@remat/reporting";
import type { DeviceSpec, Plan } from "@remat/trace";
import type { Run } from "../document/run.js";
import type { Settings } from "../document/settings.js";
import type { TraceDocument } from "../document/trace-document.js";
import type { ClickTarget, Drawn } from "../text/drawn.js";
import type { Look } from "../text/look.js";
import type { KeyBinding } from "./key-binding.js";
import type { Motion } from "./motion.js";
import type { ViewAnswer, ViewWork } from "./work.js";

/** Available space on the screen, in cells. */
export interface Area {
  readonly width: number;
  readonly height: number;
}

/** The app as a view sees it: what is open, what is selected, and the available space. */
export interface Scene {
  readonly run: Run;
  /** The document of the run that is shown. */
  readonly document: TraceDocument;
  /** Fully qualified name of the module selected in any view, or undefined if the trace has no modules. */
  readonly module: string | undefined;
  /** A plan that was opened with the trace. */
  readonly plan: Plan | undefined;
  /** The device to predict times for if none is chosen. */
  readonly device: DeviceSpec;
  /** The search text, or empty for none. */
  readonly searched: string;
  readonly area: Area;
  readonly look: Look;
}

/** Returns whether a text matches the search. */
export function isMatch({ searched }: Scene, text: string): boolean {
  return searched !== "" && text.toLowerCase().includes(searched.toLowerCase());
}

/** An event for a view. */
export type ViewAction<KeyAction extends string = string> =
  /** One of its own keys. */
  | { readonly kind: "key"; readonly action: KeyAction }
  /** A motion over rows, `by` as many. */
  | { readonly kind: "move"; readonly motion: Motion; readonly by: number }
  | { readonly kind: "wheel"; readonly steps: 1 | -1 }
  | { readonly kind: "click"; readonly target: ClickTarget }
  | { readonly kind: "enter" }
  | { readonly kind: "back" }
  /** A result of {@link View.search} was selected. */
  | { readonly kind: "choose"; readonly index: number }
  /** Text for its `ask`, sent at every key, or empty if it was cancelled. */
  | { readonly kind: "typed"; readonly text: string }
  /** Text for its `ask` was confirmed with Enter. */
  | { readonly kind: "accepted"; readonly text: string }
  /** Another view has drilled into this one. The module is already selected. */
  | { readonly kind: "arrive"; readonly op: number | undefined }
  /** An answer of the view's work. */
  | { readonly kind: "answer"; readonly answer: ViewAnswer };

/** A request of a view to the app. */
export type ViewRequest =
  | { readonly kind: "select"; readonly module: string }
  /** Drills into another view. `leave` returns. */
  | { readonly kind: "drillInto"; readonly view: string; readonly module: string | undefined; readonly op?: number }
  /** Returns to where the view was drilled into from, or else to the first view. */
  | { readonly kind: "leave" }
  | { readonly kind: "settings"; readonly settings: Partial<Settings> }
  /** Asks for text at the bottom of the screen. */
  | { readonly kind: "ask"; readonly label: string; readonly text: string; readonly hint: string }
  | { readonly kind: "tell"; readonly text: string; readonly isWarning?: boolean }
  /** Starts long work, whose results arrive as `answer`. Work of that kind already running is stopped. */
  | { readonly kind: "work"; readonly work: ViewWork }
  | { readonly kind: "stopWork"; readonly work: ViewWork["kind"] }
  | { readonly kind: "writeFile"; readonly name: string; readonly text: string };

/** Result of an action: the view's own new state, and its requests to the app. */
export interface Outcome<Own> {
  readonly own: Own;
  readonly requests?: readonly ViewRequest[];
}

/** The searchable items of a view. */
export interface Searchable {
  readonly count: number;
  text(index: number): string;
  /** The cursor, where a search starts, or -1 for none. */
  readonly current: number;
}

/**
 * A view of a trace: its keys, its state, how keys change it, how it is drawn, and what is saved. To add one, add a
 * file with it and its line in the registry (`views.ts`). All of its functions are pure.
 */
export interface View<Own = unknown, KeyAction extends string = string> {
  readonly name: string;
  /** Title on its tab. */
  readonly title: string;
  /** Title on its tab if space is short and another view is active. Left out: the title. */
  readonly shortTitle?: string;
  /** The kind of targets for which it is shown first: two traces, or a trace and a plan. */
  readonly opensFor?: "comparison" | "plan";
  /** Explanations of its own terms, for help. */
  readonly terms?: readonly (readonly [term: string, meaning: string])[];
  /** Keys that work in this view only. */
  readonly keys: readonly KeyBinding<KeyAction>[];
  /** Its state when a trace is opened. */
  initial(scene: Scene): Own;
  reduce(scene: Scene, own: Own, action: ViewAction<KeyAction>): Outcome<Own>;
  /**
   * Adjusts its state to the content and the available space: cursors to lists, windows to cursors. Called after each
   * action while the view is active. Left out if there is nothing to adjust.
   */
  settle?(scene: Scene, own: Own): Outcome<Own>;
  draw(scene: Scene, own: Own): Drawn;
  search?(scene: Scene, own: Own): Searchable | undefined;
  /** The content of an export. */
  table(scene: Scene, own: Own): ViewTable;
  /** The text that `y` copies. */
  copied?(scene: Scene, own: Own): string | undefined;
  /** The part of its state that is saved between runs of the app, as JSON. */
  save?(own: Own): unknown;
  /** Restores saved state as far as it is valid, since a file may contain anything. */
  restore?(scene: Scene, own: Own, saved: unknown): Own;
}
