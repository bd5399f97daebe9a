import { RematError } from "@remat/trace";
import { wrapText } from "@remat/trace/text";
import type { AppState, ScreenSize } from "../state/app-state.js";
import { sceneOf, viewOf } from "../state/scene-of.js";
import type { Area, View } from "../state/view.js";
import { type Drawn, type Region, stack, textOnly } from "../text/drawn.js";
import type { Glyphs } from "../text/glyphs.js";
import { fitLine, type Line } from "../text/line.js";
import { drawBottom } from "./draw-bottom.js";
import { drawTitle } from "./draw-title.js";
import { drawHelp } from "./help-screen.js";
import { drawPlan } from "./plan-screen.js";
import { drawStart } from "./start-screen.js";

/** On smaller terminals only a message about the size is shown. */
const smallestScreen: ScreenSize = { columns: 60, rows: 12 };

/** A whole screen in its three parts. Together they have exactly the rows and the width of the terminal. */
export interface DrawnScreen {
  readonly title: readonly Line[];
  readonly body: readonly Line[];
  readonly bottom: readonly Line[];
  /** In cells of the whole screen. */
  readonly regions: readonly Region[];
}

/** Returns the screen of a state for a terminal size. It is pure. */
export function drawScreen(views: readonly View[], state: AppState, { columns, rows }: ScreenSize): DrawnScreen {
  if (isTooSmall({ columns, rows })) return drawTooSmall(columns, rows, state.look.glyphs);
  const title = drawTitle(views, state, { columns, rows });
  const bottom = drawBottom(views, state, { columns, rows });
  const room = rows - title.lines.length - bottom.length;
  const body = drawBody(views, state, { width: columns, height: room });
  const fit = (line: Line): Line => fitLine(line, columns, state.look.glyphs);
  const lines = body.lines.slice(0, room).map(fit);
  return {
    title: title.lines,
    body: [...lines, ...new Array<Line>(Math.max(0, room - lines.length)).fill(fit([]))],
    bottom,
    regions: stack(title, { lines, regions: body.regions }).regions,
  };
}

/** Returns whether a terminal is too small for the app. */
export function isTooSmall({ columns, rows }: ScreenSize): boolean {
  return columns < smallestScreen.columns || rows < smallestScreen.rows;
}

/**
 * Returns the space between the title and bottom lines. For a terminal that is too small, the space in the smallest
 * supported one.
 */
export function bodyArea(views: readonly View[], state: AppState): Area {
  const columns = Math.max(smallestScreen.columns, state.size.columns);
  const rows = Math.max(smallestScreen.rows, state.size.rows);
  const taken =
    drawTitle(views, state, { columns, rows }).lines.length + drawBottom(views, state, { columns, rows }).length;
  return { width: columns, height: rows - taken };
}

/** Draws the part between the title and bottom lines, which is also what is printed of a view. */
export function drawBody(views: readonly View[], state: AppState, area: Area): Drawn {
  if (state.help !== undefined) return drawHelp(views, state, area);
  if (state.screen === "start") return drawStart(state, area);
  if (state.screen === "plan" && state.plan !== undefined) return drawPlan(state, state.plan, area);
  const view = viewOf(views, state);
  try {
    return view.draw(sceneOf(state, area), state.own[view.name]);
  } catch (error) {
    if (!(error instanceof RematError)) throw error;
    return textOnly(
      [],
      ...wrapText(error.message, area.width - 4).map((text): Line => [{ text: "  " }, { text, style: "bad" }]),
    );
  }
}

/** A plain message, cut to the available space. */
function drawTooSmall(width: number, height: number, glyphs: Glyphs): DrawnScreen {
  const text =
    `This terminal has ${width} columns and ${height} rows; ` +
    `remat needs ${smallestScreen.columns} by ${smallestScreen.rows}. Make it larger, or run remat ui --once. q quits.`;
  const fit = (line: string): Line => fitLine([{ text: line }], width, glyphs);
  const lines = wrapText(text, Math.max(1, width)).slice(0, height).map(fit);
  return {
    title: [],
    body: [...lines, ...new Array<Line>(Math.max(0, height - lines.length)).fill(fit(""))],
    bottom: [],
    regions: [],
  };
}
