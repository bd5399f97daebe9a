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

/** Room on the screen, in cells. */
export interface Area {
  readonly width: number;
  readonly height: number;
}

/** All that a view sees of the app: what is open, what is chosen in it, and the room that there is. */
export interface Scene {
  readonly run: Run;
  /** That of the run which is shown. */
  readonly document: TraceDocument;
  /** Fully qualified name of the module that is chosen, in whatever view; undefined where a trace tells of none. */
  readonly module: string | undefined;
  /** A plan that was opened with the trace. */
  readonly plan: Plan | undefined;
  /** What is predicted for where no device is chosen. */
  readonly device: DeviceSpec;
  /** What is searched for; empty for nothing. */
  readonly searched: string;
  readonly area: Area;
  readonly look: Look;
}

/** Tells whether a text is one that is searched for. */
export function isMatch({ searched }: Scene, text: string): boolean {
  return searched !== "" && text.toLowerCase().includes(searched.toLowerCase());
}

/** What a view is told. */
export type ViewAction<KeyAction extends string = string> =
  /** One of its own keys. */
  | { readonly kind: "key"; readonly action: KeyAction }
  /** A motion over rows; `by` is how many that are. */
  | { readonly kind: "move"; readonly motion: Motion; readonly by: number }
  | { readonly kind: "wheel"; readonly steps: 1 | -1 }
  | { readonly kind: "click"; readonly target: ClickTarget }
  | { readonly kind: "enter" }
  | { readonly kind: "back" }
  /** One of what {@link View.search} finds. */
  | { readonly kind: "choose"; readonly index: number }
  /** What it asked for by `ask`, at every key; empty when it was called off. */
  | { readonly kind: "typed"; readonly text: string }
  /** What it asked for was typed to its end: Enter. */
  | { readonly kind: "accepted"; readonly text: string }
  /** Another view has drilled into this one: the module is chosen already. */
  | { readonly kind: "arrive"; readonly op: number | undefined }
  /** Something came of what the view has under way. */
  | { readonly kind: "answer"; readonly answer: ViewAnswer };

/** What a view asks of the app. */
export type ViewRequest =
  | { readonly kind: "select"; readonly module: string }
  /** Drills into another view; `leave` comes back. */
  | { readonly kind: "drillInto"; readonly view: string; readonly module: string | undefined; readonly op?: number }
  /** Goes back to where the view was drilled into from; else to the first view. */
  | { readonly kind: "leave" }
  | { readonly kind: "settings"; readonly settings: Partial<Settings> }
  /** Lets something be typed at the bottom of the screen. */
  | { readonly kind: "ask"; readonly label: string; readonly text: string; readonly hint: string }
  | { readonly kind: "tell"; readonly text: string; readonly isWarning?: boolean }
  /** Begins what takes long; what comes of it is told by `answer`. What was under way of that kind is stopped. */
  | { readonly kind: "work"; readonly work: ViewWork }
  | { readonly kind: "stopWork"; readonly work: ViewWork["kind"] }
  | { readonly kind: "writeFile"; readonly name: string; readonly text: string };

/** What comes of an action: the view's own state after it, and what it asks of the app. */
export interface Outcome<Own> {
  readonly own: Own;
  readonly requests?: readonly ViewRequest[];
}

/** What can be searched in a view. */
export interface Searchable {
  readonly count: number;
  text(index: number): string;
  /** Where the cursor is, to search on from; -1 for nowhere. */
  readonly current: number;
}

/**
 * A view of a trace: its keys, its state, what keys do to it, how it is drawn, and what of it is kept. A file with one of these and its line in
 * the registry (`views.ts`) are all that a view is. Every function of it is pure.
 */
export interface View<Own = unknown, KeyAction extends string = string> {
  readonly name: string;
  /** On its tab. */
  readonly title: string;
  /** On its tab where there is little room and another view is on; left out: the title. */
  readonly shortTitle?: string;
  /** What it is turned to for, when that is opened: two traces, or a trace and a plan. */
  readonly opensFor?: "comparison" | "plan";
  /** What words of its own mean, for help. */
  readonly terms?: readonly (readonly [term: string, meaning: string])[];
  /** Those that mean something in this view only. */
  readonly keys: readonly KeyBinding<KeyAction>[];
  /** Its state when a trace is opened. */
  initial(scene: Scene): Own;
  reduce(scene: Scene, own: Own, action: ViewAction<KeyAction>): Outcome<Own>;
  /**
   * Brings its state in keeping with what is shown and the room there is: cursors into lists, windows to cursors. Called after each action while
   * the view is on; left out where nothing of it can go out of keeping.
   */
  settle?(scene: Scene, own: Own): Outcome<Own>;
  draw(scene: Scene, own: Own): Drawn;
  search?(scene: Scene, own: Own): Searchable | undefined;
  /** What an export holds. */
  table(scene: Scene, own: Own): ViewTable;
  /** What `y` copies. */
  copied?(scene: Scene, own: Own): string | undefined;
  /** What of its state is kept between two runs of the app, as JSON. */
  save?(own: Own): unknown;
  /** `own` with what was kept, as far as it fits: anything may stand in a file. */
  restore?(scene: Scene, own: Own, saved: unknown): Own;
}
