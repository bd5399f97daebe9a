import type { TraceDocument } from "../document/trace-document.js";
import type { ThemeName } from "../text/theme.js";
import type { SavedView } from "./opened.js";
import type { ViewWork } from "./work.js";

/** An effect on the outside world. Its results are dispatched as actions. */
export type Command =
  /** Opens targets one after the other. Dispatches `opening`, `opened`, and at the end `allOpened` or `notOpened`. */
  | { readonly kind: "open"; readonly id: number; readonly targets: readonly string[] }
  | { readonly kind: "stopOpening" }
  /** Looks up the entries of the start screen. Dispatches `entries`. */
  | { readonly kind: "listEntries" }
  /** Starts long work of a view. Dispatches `answer`s. Work of that kind already running for the view is stopped. */
  | { readonly kind: "work"; readonly view: string; readonly work: ViewWork }
  /** Stops a view's work of a kind. The best result so far, if any, is dispatched. */
  | { readonly kind: "stopWork"; readonly view: string; readonly work: ViewWork["kind"] }
  | { readonly kind: "stopAllWork" }
  /** Computes the full verdict on the shown step. Dispatches `judged`. An earlier one still running is stopped. */
  | { readonly kind: "judge"; readonly document: TraceDocument }
  /** Writes a new file. Dispatches `written` or `notWritten`. */
  | { readonly kind: "writeFile"; readonly name: string; readonly text: string }
  | { readonly kind: "copy"; readonly text: string }
  | { readonly kind: "saveView"; readonly path: string; readonly title: string; readonly saved: SavedView }
  | { readonly kind: "saveTheme"; readonly theme: ThemeName }
  | { readonly kind: "redraw" }
  | { readonly kind: "suspend" }
  | { readonly kind: "quit" };
