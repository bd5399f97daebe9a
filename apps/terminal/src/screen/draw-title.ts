import type { Run } from "../document/run.js";
import type { AppState, ScreenSize } from "../state/app-state.js";
import { viewOf } from "../state/scene-of.js";
import type { View } from "../state/view.js";
import { type Drawn, type Region, textOnly } from "../text/drawn.js";
import { fitText, textWidth } from "../text/fit-text.js";
import type { Glyphs } from "../text/glyphs.js";
import { fitLine, lineWidth, type Span } from "../text/line.js";
import { drawVerdict, roomBesideVerdict } from "./draw-verdict.js";

const appName: Span = { text: " remat ", style: "title" };

/**
 * How tabs are written: with the app's name in front, with spaces around each, with the short names of the inactive
 * views.
 */
interface TabStyle {
  readonly hasAppName: boolean;
  readonly isRoomy: boolean;
  readonly isShort: boolean;
}

/** The widest first. */
const wholeTabs: readonly TabStyle[] = [
  { hasAppName: true, isRoomy: true, isShort: false },
  { hasAppName: false, isRoomy: true, isShort: false },
  { hasAppName: false, isRoomy: false, isShort: false },
];
const shortTabs: TabStyle = { hasAppName: false, isRoomy: false, isShort: true };
/** Minimum width of a name that is cut. */
const fewestColumns = 22;

/**
 * Draws the lines above a view: the tabs, the verdict, and the name and device of the document. The name follows the
 * tabs if there is space for it beside unshortened tabs. Otherwise it is at the end of the verdict, or on its own line
 * if there is no space there either.
 */
export function drawTitle(views: readonly View[], state: AppState, { columns: width, rows }: ScreenSize): Drawn {
  const { glyphs } = state.look;
  const { run } = state;
  if (state.screen === "plan" && state.planFrom !== undefined)
    return textOnly(fitLine([appName, { text: ` ${state.planFrom.title}`, style: "faint" }], width, glyphs));
  if (state.screen !== "views" || run === undefined) return textOnly(fitLine([appName], width, glyphs));
  const on = viewOf(views, state);
  const [name, shortName] = namesOf(run, glyphs);
  const verdict = (beside?: string) => drawVerdict(run, { columns: width, rows }, glyphs, beside);
  const roomBeside = (tabs: Drawn): number => width - lineWidth(tabs.lines[0]) - 2;
  const withName = (tabs: Drawn, text: string): Drawn => {
    const fitted = fitText(text, roomBeside(tabs), glyphs, { align: "right", cut: "start" });
    const line = [...tabs.lines[0], { text: ` ${fitted} `, style: "faint" as const }];
    return { lines: [fitLine(line, width, glyphs), ...verdict()], regions: tabs.regions };
  };

  const whole = wholeTabs.map((style) => drawTabs(views, on, style));
  const beside = whole.find((tabs) => roomBeside(tabs) >= textWidth(name));
  if (beside !== undefined) return withName(beside, name);
  const alone = whole.find(({ lines: [line] }) => lineWidth(line) <= width);
  const room = roomBesideVerdict(run, width, glyphs);
  const named = [name, shortName].find((text) => textWidth(text) <= room);
  if (alone !== undefined && named !== undefined)
    return { lines: [fitLine(alone.lines[0], width, glyphs), ...verdict(named)], regions: alone.regions };
  const short = drawTabs(views, on, shortTabs);
  if (roomBeside(short) >= Math.min(fewestColumns, textWidth(name))) return withName(short, name);
  const tabs = alone ?? short;
  const ownLine = fitLine(
    [{ text: ` ${fitText(name, width - 2, glyphs, { cut: "start" })} `, style: "faint" }],
    width,
    glyphs,
  );
  return { lines: [fitLine(tabs.lines[0], width, glyphs), ownLine, ...verdict()], regions: tabs.regions };
}

function drawTabs(views: readonly View[], on: View, { hasAppName, isRoomy, isShort }: TabStyle): Drawn {
  const spans: Span[] = hasAppName ? [appName] : [];
  const regions: Region[] = [];
  for (const [number, view] of views.entries()) {
    const title = isShort && view !== on ? (view.shortTitle ?? view.title) : view.title;
    const key = isRoomy ? ` ${number + 1} ` : `${number + 1}`;
    const x = lineWidth(spans);
    spans.push(
      { text: key, style: view === on ? "activeTab" : isRoomy ? "tab" : "key" },
      { text: isRoomy ? `${title} ` : title, style: view === on ? "activeTab" : "tab" },
    );
    const end = lineWidth(spans);
    regions.push({ x, y: 0, width: end - x, height: 1, target: { kind: "view", number } });
    if (!isRoomy && number < views.length - 1) spans.push({ text: " " });
  }
  return { lines: [spans], regions };
}

/** The document's name with its device, and without the device if the verdict already contains it. */
function namesOf({ document, rememberedDevice }: Run, glyphs: Glyphs): readonly [string, string] {
  const { title } = document.name;
  const { device, worldSize } = document.settings;
  const isRemembered = rememberedDevice !== undefined && rememberedDevice === device?.name;
  const ranks = worldSize > 1 ? ` ${glyphs.isAscii ? "x" : "×"} ${worldSize}` : "";
  const name = `${title} ${glyphs.separator} ${device?.name ?? "as recorded"}${isRemembered ? " (remembered)" : ""}${ranks}`;
  return [name, device === undefined || isRemembered || worldSize > 1 ? name : title];
}
