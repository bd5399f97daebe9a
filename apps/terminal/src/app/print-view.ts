import { factLines, factsOf, type Verdict } from "@remat/reporting/verdict";
import { type DeviceSpec, RematError, type Trace } from "@remat/trace";
import { findModule } from "../document/find-module.js";
import { specOf } from "../document/settings.js";
import type { StepAtHand } from "../document/step-at-hand.js";
import type { TraceDocument } from "../document/trace-document.js";
import { drawBody } from "../screen/draw-screen.js";
import { asciiGlyphs, type Glyphs, unicodeGlyphs } from "../text/glyphs.js";
import { type Line, paintLine } from "../text/line.js";
import { type Look, themeOfLook } from "../text/look.js";
import type { ColourDepth, ThemeName } from "../text/theme.js";
import { type ViewName, viewNames } from "../views/views.js";
import { App } from "./app.js";
import type { AnswerWhatIfs, Host } from "./host.js";

/** Options of {@link printView}. */
export interface PrintOptions {
  /** The view to print. */
  readonly view: ViewName;
  /** Width in columns. */
  readonly columns: number;
  /** Maximum number of lines: tables are cut there, and pictures are this high. */
  readonly rows: number;
  /** Display name of the trace. */
  readonly title: string;
  /** Device to estimate times for if the trace has none of its own: a spec, or a name that `deviceSpec` knows. */
  readonly device: DeviceSpec | string;
  /** A module to show, by its fully qualified name. */
  readonly module?: string | undefined;
  /** Verdict on the step. Left out: the one available immediately. */
  readonly verdict?: Verdict | undefined;
  /** Facts about the step that are not in its trace, if available. */
  readonly atHand?: StepAtHand | undefined;
  /** A second trace, for the comparison view. */
  readonly other?: { readonly title: string; readonly trace: Trace } | undefined;
  /** For a trace of a model: the model's path, and a function that answers what-if questions about its step. */
  readonly model?: { readonly path: string; readonly answerWhatIfs: AnswerWhatIfs } | undefined;
  /** True to draw with ASCII only. */
  readonly isAscii?: boolean;
  /** `none`: text without escape sequences. */
  readonly depth?: ColourDepth;
  readonly theme?: ThemeName;
}

/**
 * Prints a view of a trace as text, as the app would show it, for pipes and logs.
 *
 * @example
 * process.stdout.write(await printView(trace, { view: "modules", columns: 100, rows: 40, title: "net", device: "a100" }));
 */
export async function printView(trace: Trace, options: PrintOptions): Promise<string> {
  const { columns, rows, view, title, other, module, model, depth = "none", theme = "dark" } = options;
  if (!viewNames.includes(view))
    throw new RematError("VIEW_UNKNOWN", `unknown view ${view}. Choose one of ${viewNames.join(", ")}.`);
  const glyphs: Glyphs = { ...(options.isAscii ? asciiGlyphs : unicodeGlyphs), scrollTrack: "" };
  const look: Look = { theme, depth, glyphs, isPlain: depth === "none" };
  const app = new App({
    host: silentHost(specOf(options.device), model?.answerWhatIfs),
    look,
    size: { columns, rows },
    view,
  });
  app.show(title, model?.path, trace, model !== undefined, options.atHand);
  if (options.verdict !== undefined) app.dispatch({ kind: "judged", document: app.document, verdict: options.verdict });
  if (other !== undefined)
    app.dispatch({ kind: "compareWith", title: other.title, path: undefined, trace: other.trace });
  if (module !== undefined) app.dispatch({ kind: "select", module: requireModule(app.document, module) });
  // The trade-off view searches for the optimal policy, so the text is drawn after the search.
  await app.runner.works.finish();
  const verdict = factLines(factsOf(options.verdict ?? app.document.verdict()), columns).map(
    (text): Line => [{ text }],
  );
  const { lines: body } = drawBody(app.views, app.state, { width: columns, height: rows - verdict.length - 1 });
  const lines = [...verdict, [], ...body];
  const text = lines.map((line: Line) => paintLine(unselected(line), themeOfLook(look), glyphs).trimEnd());
  return `${text.join("\n").trimEnd()}\n`;
}

/**
 * Name of an existing module.
 *
 * @throws RematError `MODULE_UNKNOWN`
 */
function requireModule(document: TraceDocument, fqn: string): string {
  const tree = document.tree();
  const found = findModule(tree, fqn);
  if (found !== undefined) return found.fqn;
  const near = tree.nodes.filter((node) => node.fqn.includes(fqn)).slice(0, 5);
  const names = (near.length > 0 ? near : tree.nodes.slice(0, 5)).map((node) => node.fqn);
  throw new RematError("MODULE_UNKNOWN", `unknown module ${fqn}. Name one, such as ${names.join(", ")}.`);
}

/** Text output has no cursor. */
function unselected(line: Line): Line {
  return line.map((span) => (span.style === "selected" ? { text: span.text } : span));
}

/** A host without effects. */
function silentHost(device: DeviceSpec, answerWhatIfs: AnswerWhatIfs | undefined): Host {
  const nothing = (): void => undefined;
  return {
    open: () => Promise.reject(new Error("a file cannot be opened while a view is printed")),
    answerWhatIfs,
    writeFile: (name) => name,
    copy: nothing,
    redraw: nothing,
    suspend: nothing,
    quit: nothing,
    startEntries: () => [],
    loadView: () => ({}),
    saveView: nothing,
    saveTheme: nothing,
    device,
    planTimeMs: 0,
  };
}
