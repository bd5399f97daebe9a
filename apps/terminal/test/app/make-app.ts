import type { Trace } from "@remat/trace";
import { App, type AppOptions } from "../../src/app/app.js";
import type { Host, SavedView } from "../../src/app/host.js";
import { type DrawnScreen, drawScreen } from "../../src/screen/draw-screen.js";
import { asciiGlyphs, unicodeGlyphs } from "../../src/text/glyphs.js";
import { lineWidth } from "../../src/text/line.js";

/** What the app did to the world. */
export interface Deeds {
  readonly files: { readonly name: string; readonly text: string }[];
  readonly copied: string[];
  readonly saved: { readonly path: string; readonly view: SavedView }[];
  quits: number;
  redraws: number;
}

/** An app whose world is a list of what was done to it. */
export function makeApp(
  options: Partial<Omit<AppOptions, "host">> & { readonly ascii?: boolean; readonly host?: Partial<Host> } = {},
): { app: App; deeds: Deeds; press: (...keys: string[]) => void; type: (text: string) => void } {
  const deeds: Deeds = { files: [], copied: [], saved: [], quits: 0, redraws: 0 };
  const app = new App({
    glyphs: options.ascii ? asciiGlyphs : unicodeGlyphs,
    depth: "none",
    theme: "dark",
    size: { columns: 100, rows: 30 },
    ...options,
    host: {
      open: () => Promise.reject(new Error("nothing to open")),
      writeFile: (name, text) => {
        deeds.files.push({ name, text });
        return `/folder/${name}`;
      },
      copy: (text) => void deeds.copied.push(text),
      redraw: () => void deeds.redraws++,
      suspend: () => undefined,
      quit: () => void deeds.quits++,
      startEntries: () => [],
      loadView: () => ({}),
      saveView: (path, _title, view) => void deeds.saved.push({ path, view }),
      saveTheme: () => undefined,
      device: "a100",
      planTimeMs: 200,
      ...options.host,
    },
  });
  const press = (...keys: string[]): void => {
    for (const key of keys) app.handle({ kind: "key", key });
  };
  return { app, deeds, press, type: (text) => press(...text) };
}

/** An app that shows a trace. */
export function appOf(trace: Trace, options: Parameters<typeof makeApp>[0] = {}): ReturnType<typeof makeApp> {
  const made = makeApp(options);
  made.app.show(trace.header.model ?? "trace", "/folder/trace.remat.jsonl", trace);
  return made;
}

/** The rows of a screen as text. */
export function screenText(app: App): readonly string[] {
  return linesOf(drawScreen(app)).map((line) => line.map(({ text }) => text).join(""));
}

export function linesOf({ title, body, bottom }: DrawnScreen): DrawnScreen["body"] {
  return [...title, ...body, ...bottom];
}

/** Rows that are wider than the terminal. */
export function tooWide(app: App): readonly string[] {
  return linesOf(drawScreen(app))
    .filter((line) => lineWidth(line) > app.state.size.columns)
    .map((line) => line.map(({ text }) => text).join(""));
}
