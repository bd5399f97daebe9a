// Loaded before a test is over that has begun to ask what if.
import "@remat/fit";
import type { ViewTable } from "@remat/reporting";
import { deviceSpec } from "@remat/runtime-estimator";
import type { Trace } from "@remat/trace";
import { App } from "../../src/app/app.js";
import type { Host } from "../../src/app/host.js";
import { bodyArea, type DrawnScreen, drawScreen } from "../../src/screen/draw-screen.js";
import type { ScreenSize } from "../../src/state/app-state.js";
import type { SavedView } from "../../src/state/opened.js";
import { sceneOf, viewOf } from "../../src/state/scene-of.js";
import type { View } from "../../src/state/view.js";
import { asciiGlyphs, unicodeGlyphs } from "../../src/text/glyphs.js";
import { lineWidth } from "../../src/text/line.js";
import type { ColourDepth, ThemeName } from "../../src/text/theme.js";
import type { CompareState } from "../../src/views/compare-view.js";
import type { DevicesState } from "../../src/views/devices-view.js";
import type { HeldState } from "../../src/views/held-view.js";
import type { MemoryState } from "../../src/views/memory-view.js";
import type { ModulesState } from "../../src/views/modules-view.js";
import type { OpsState } from "../../src/views/ops-view.js";
import type { TradeOffState } from "../../src/views/trade-off-view.js";

/** Effects of the app on the outside world. */
export interface Deeds {
  readonly files: { readonly name: string; readonly text: string }[];
  readonly copied: string[];
  readonly saved: { readonly path: string; readonly view: SavedView }[];
  quits: number;
  redraws: number;
}

export interface MakeAppOptions {
  readonly view?: string;
  readonly views?: readonly View[];
  readonly size?: ScreenSize;
  readonly theme?: ThemeName;
  readonly depth?: ColourDepth;
  readonly ascii?: boolean;
  readonly isPlain?: boolean;
  readonly host?: Partial<Host>;
}

/** An app whose world is a list of what was done to it. */
export function makeApp({
  view,
  views,
  size = { columns: 100, rows: 30 },
  theme = "dark",
  depth = "none",
  ascii = false,
  isPlain = false,
  host,
}: MakeAppOptions = {}): {
  app: App;
  deeds: Deeds;
  press: (...keys: string[]) => void;
  type: (text: string) => void;
} {
  const deeds: Deeds = { files: [], copied: [], saved: [], quits: 0, redraws: 0 };
  const app = new App({
    look: { theme, depth, isPlain, glyphs: ascii ? asciiGlyphs : unicodeGlyphs },
    size,
    view,
    ...(views && { views }),
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
      saveView: (path, _title, saved) => void deeds.saved.push({ path, view: saved }),
      saveTheme: () => undefined,
      device: deviceSpec("a100"),
      planTimeMs: 200,
      ...host,
    },
  });
  const press = (...keys: string[]): void => {
    for (const key of keys) app.handle({ kind: "key", key });
  };
  return { app, deeds, press, type: (text) => press(...text) };
}

/** An app that shows a trace. */
export function appOf(trace: Trace, options: MakeAppOptions = {}): ReturnType<typeof makeApp> {
  const made = makeApp(options);
  made.app.show(trace.header.model ?? "trace", "/folder/trace.remat.jsonl", trace);
  return made;
}

/** The private state of the views. */
export function own({ state }: App): {
  held: HeldState;
  readonly modules: ModulesState;
  readonly ops: OpsState;
  readonly tradeOff: TradeOffState;
  readonly memory: MemoryState;
  readonly compare: CompareState;
  readonly devices: DevicesState;
} {
  return state.own as never;
}

/** Content of an export of the current view. */
export function tableOf({ views, state }: App): ViewTable {
  const view = viewOf(views, state);
  return view.table(sceneOf(state, bodyArea(views, state)), state.own[view.name]);
}

/** The screen as it is now. */
export function screenOf({ views, state }: App): DrawnScreen {
  return drawScreen(views, state, state.size);
}

/** The rows of a screen as text. */
export function screenText(app: App): readonly string[] {
  return linesOf(screenOf(app)).map((line) => line.map(({ text }) => text).join(""));
}

export function linesOf({ title, body, bottom }: DrawnScreen): DrawnScreen["body"] {
  return [...title, ...body, ...bottom];
}

/** Rows that are wider than the terminal. */
export function tooWide(app: App): readonly string[] {
  return linesOf(screenOf(app))
    .filter((line) => lineWidth(line) > app.state.size.columns)
    .map((line) => line.map(({ text }) => text).join(""));
}
