import type { Trace } from "@remat/trace";
import { drawBody } from "../screen/draw-screen.js";
import { asciiGlyphs, type Glyphs, unicodeGlyphs } from "../text/glyphs.js";
import { type Line, paintLine } from "../text/line.js";
import type { ColourDepth, ThemeName } from "../text/theme.js";
import { App } from "./app.js";
import type { Host } from "./host.js";
import type { ViewName } from "./key-map.js";

export interface PrintOptions {
  readonly view: ViewName;
  /** Width in columns. */
  readonly columns: number;
  /** Lines at most; tables are cut there, pictures made as high. */
  readonly rows: number;
  /** Of the trace, for people. */
  readonly title: string;
  readonly device: string;
  /** A module to look at, by its fully qualified name. */
  readonly module?: string | undefined;
  /** A second trace, for the view that compares. */
  readonly other?: { readonly title: string; readonly trace: Trace } | undefined;
  readonly isAscii?: boolean;
  /** `none`: text without any escape sequence. */
  readonly depth?: ColourDepth;
  readonly theme?: ThemeName;
}

/**
 * A view of a trace as text, as the app would show it: for pipes and logs.
 *
 * @example
 * process.stdout.write(await printView(trace, { view: "modules", columns: 100, rows: 40, title: "net", device: "a100" }));
 */
export async function printView(trace: Trace, options: PrintOptions): Promise<string> {
  const { columns, rows, view, depth = "none" } = options;
  const glyphs: Glyphs = { ...(options.isAscii ? asciiGlyphs : unicodeGlyphs), scrollTrack: "" };
  const app = new App({
    host: silentHost(options.device),
    glyphs,
    depth,
    theme: options.theme ?? "dark",
    size: { columns, rows },
    view,
    isPlain: depth === "none",
  });
  app.show(options.title, undefined, trace);
  app.state.view = view;
  if (options.other !== undefined) app.compareWith(options.other.title, options.other.trace);
  if (options.module !== undefined) app.requireModule(options.module);
  const area = { width: columns, height: rows };
  let { lines } = drawBody(app, area);
  // The trade-off view asks for the optimal policy when it is drawn; a text is drawn only once it has been found.
  if (await app.optimum.finish()) ({ lines } = drawBody(app, area));
  const text = lines.map((line: Line) => paintLine(unselected(line), app.theme, glyphs).trimEnd());
  return `${text.join("\n").trimEnd()}\n`;
}

/** There is no cursor in a text. */
function unselected(line: Line): Line {
  return line.map((span) => (span.style === "selected" ? { text: span.text } : span));
}

/** Where there is nobody to do anything. */
function silentHost(device: string): Host {
  const nothing = (): void => undefined;
  return {
    open: () => Promise.reject(new Error("nothing can be opened while a view is printed")),
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
