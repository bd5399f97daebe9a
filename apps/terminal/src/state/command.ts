import type { TraceDocument } from "../document/trace-document.js";
import type { ThemeName } from "../text/theme.js";
import type { SavedView } from "./opened.js";
import type { ViewWork } from "./work.js";

/** Something to be done to the world outside; what comes of it is told by actions. */
export type Command =
  /** Opens one target after the other; tells `opening`, `opened`, and at the end `allOpened` or `notOpened`. */
  | { readonly kind: "open"; readonly id: number; readonly targets: readonly string[] }
  | { readonly kind: "stopOpening" }
  /** Looks up what the start screen offers; tells `entries`. */
  | { readonly kind: "listEntries" }
  /** Begins what takes a view long; tells `answer`s. What the view has under way of that kind is stopped. */
  | { readonly kind: "work"; readonly view: string; readonly work: ViewWork }
  /** Stops what a view has under way of a kind; where there is a best result so far, it is told. */
  | { readonly kind: "stopWork"; readonly view: string; readonly work: ViewWork["kind"] }
  | { readonly kind: "stopAllWork" }
  /** Judges the step that is shown with all that there is to say; tells `judged`. What was being judged before is stopped. */
  | { readonly kind: "judge"; readonly document: TraceDocument }
  /** Writes a file that was not there before; tells `written` or `notWritten`. */
  | { readonly kind: "writeFile"; readonly name: string; readonly text: string }
  | { readonly kind: "copy"; readonly text: string }
  | { readonly kind: "saveView"; readonly path: string; readonly title: string; readonly saved: SavedView }
  | { readonly kind: "saveTheme"; readonly theme: ThemeName }
  | { readonly kind: "redraw" }
  | { readonly kind: "suspend" }
  | { readonly kind: "quit" };
