import { RematError } from "@remat/trace";
import type { App } from "../app/app.js";
import { keyLabel, keyMap, viewNames } from "../app/key-map.js";
import { listedMatches } from "../app/prompt.js";
import { type Drawn, type Region, stack, textOnly } from "../text/drawn.js";
import { fitText, textWidth } from "../text/fit-text.js";
import { fitLine, type Line, lineWidth, type Span } from "../text/line.js";
import { showControls } from "../text/show-controls.js";
import { wrap } from "../text/wrap-text.js";
import { viewsByName } from "../views/views-by-name.js";
import { drawHelp } from "./help-screen.js";
import { drawPlan } from "./plan-screen.js";
import { drawStart } from "./start-screen.js";

/** Terminals that are narrower or lower are only told so. */
export const smallestScreen = { columns: 60, rows: 12 } as const;

/** A whole screen in its three parts; together they have exactly the rows of the terminal. */
export interface DrawnScreen {
  readonly title: readonly Line[];
  readonly body: readonly Line[];
  readonly bottom: readonly Line[];
  /** In cells of the whole screen. */
  readonly regions: readonly Region[];
}

/** Draws the app as it is now. */
export function drawScreen(app: App): DrawnScreen {
  const { columns: width, rows: height } = app.state.size;
  if (width < smallestScreen.columns || height < smallestScreen.rows) return tooSmall(width, height);
  const title = drawTitle(app, width);
  const bottom = drawBottom(app, width);
  const room = height - title.lines.length - bottom.length;
  const body = drawBody(app, { width, height: room });
  // Ink lays a text out anew where any line of it is too long.
  const lines = body.lines.slice(0, room).map((line) => fitLine(line, width, app.glyphs));
  return {
    title: title.lines,
    body: [...lines, ...new Array<Line>(Math.max(0, room - lines.length)).fill([])],
    bottom,
    regions: stack(title, { lines, regions: body.regions }).regions,
  };
}

/** A view by itself, without the bars above and below: what `--once` prints. */
export function drawBody(app: App, area: { readonly width: number; readonly height: number }): Drawn {
  const { state } = app;
  if (state.help !== undefined) return drawHelp(app, area);
  if (state.screen === "start") return drawStart(app, area);
  if (state.screen === "plan" && state.plan !== undefined) return drawPlan(app, state.plan, area);
  try {
    return app.view.draw(app, area);
  } catch (error) {
    if (!(error instanceof RematError)) throw error;
    return textOnly(
      [],
      ...wrap(error.message, area.width - 4).map((text): Line => [{ text: "  " }, { text, style: "bad" }]),
    );
  }
}

function drawTitle(app: App, width: number): Drawn {
  const { state } = app;
  const { glyphs } = app;
  const name: Span = { text: " remat ", style: "title" };
  if (state.screen !== "views") return textOnly(fitLine([name], width, glyphs));
  const spans: Span[] = [name];
  const regions: Region[] = [];
  const isNarrow = width < 100;
  for (const [number, view] of viewNames.entries()) {
    const title = isNarrow ? viewsByName[view].title.replace(/ and.*/, "") : viewsByName[view].title;
    const text = ` ${number + 1} ${title} `;
    regions.push({ x: lineWidth(spans), y: 0, width: textWidth(text), height: 1, target: { kind: "view", number } });
    spans.push({ text, style: view === state.view ? "activeTab" : "tab" });
  }
  const { name: document, settings } = app.document;
  const device = settings.device ?? "as recorded";
  const right = `${document.title} ${glyphs.separator} ${device}${settings.worldSize > 1 ? ` × ${settings.worldSize}` : ""} `;
  const left = width - lineWidth(spans) - 1;
  if (left >= 12)
    spans.push({ text: ` ${fitText(right, left, glyphs, { align: "right", cut: "start" })}`, style: "faint" });
  return {
    lines: [fitLine(spans, width, glyphs), [{ text: glyphs.horizontal.repeat(width), style: "faint" }]],
    regions,
  };
}

/** The last lines: what is being typed with its results, a notice, or the most useful keys. */
function drawBottom(app: App, width: number): readonly Line[] {
  const { state, glyphs } = app;
  const { prompt, notice } = state;
  const fit = (...line: Span[]): Line => fitLine(line, width, glyphs);
  if (prompt?.kind === "search") {
    const list = app.view.search?.(app);
    const first = Math.max(0, Math.min(prompt.chosen - listedMatches + 1, prompt.matches.length - listedMatches));
    const results = prompt.matches.slice(first, first + listedMatches).map((index, i) => {
      const isChosen = first + i === prompt.chosen;
      return fit({
        text: `${isChosen ? glyphs.selected : " "} ${list?.text(index) ?? ""}`,
        style: isChosen ? "selected" : undefined,
      });
    });
    const count = prompt.text === "" ? "" : prompt.total === 0 ? "  nothing" : `  ${prompt.total} found`;
    const more = prompt.total > 0 ? "  Up and Down choose, Enter goes there" : "";
    return [
      ...results,
      fit(
        { text: "/", style: "key" },
        { text: prompt.text },
        { text: " ", style: "activeTab" },
        { text: count + more, style: "faint" },
      ),
    ];
  }
  if (prompt !== undefined)
    return [
      fit(
        { text: prompt.kind === "filter" ? "filter: " : "open: ", style: "key" },
        { text: prompt.text },
        { text: " ", style: "activeTab" },
        {
          text: prompt.kind === "filter" ? "  Enter keeps it, Esc shows all" : "  a path; Enter opens, Esc does not",
          style: "faint",
        },
      ),
    ];
  if (state.exporting)
    return [
      fit(
        { text: "export this view as  ", style: "strong" },
        ...["c", "CSV  ", "j", "JSON  ", "m", "Markdown  "].map(
          (text, i): Span => ({ text: i % 2 === 0 ? `${text} ` : text, style: i % 2 === 0 ? "key" : undefined }),
        ),
        { text: "Esc not", style: "faint" },
      ),
    ];
  if (notice !== undefined) {
    const style = notice.kind === "warning" ? "bad" : "notice";
    // A path has to be readable whole, wherever it ends.
    const lines = cutIntoLines(showControls(notice.text, glyphs.isAscii), width - 1);
    return lines.map((text) => fit({ text: ` ${text}`, style }));
  }
  return [hints(app, width)];
}

function hints(app: App, width: number): Line {
  const { view, screen } = app.state;
  const shown = screen === "views" ? keyMap : keyMap.filter(({ action }) => ["help", "quit"].includes(action));
  const spans: Span[] = [];
  for (const { keys, hint, hintKeys, views: where } of shown) {
    if (hint === undefined || (where !== undefined && !where.includes(view))) continue;
    const item: Span[] = [
      { text: ` ${hintKeys ?? keyLabel(keys[0])}`, style: "key" },
      { text: ` ${hint} `, style: "faint" },
    ];
    if (lineWidth(spans) + lineWidth(item) <= width) spans.push(...item);
  }
  return fitLine(spans, width, app.glyphs);
}

function cutIntoLines(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (let at = 0; at < text.length && lines.length < 3; at += width) lines.push(text.slice(at, at + width));
  return lines;
}

/** A plain statement, in as many words as there is room for. */
function tooSmall(width: number, height: number): DrawnScreen {
  const text = `This terminal has ${width} columns and ${height} rows; remat ui needs ${smallestScreen.columns} by ${smallestScreen.rows}. Make it larger, or run remat ui --once. q quits.`;
  const lines = wrap(text, Math.max(1, width))
    .slice(0, height)
    .map((line): Line => [{ text: line.slice(0, width) }]);
  return {
    title: [],
    body: [...lines, ...new Array<Line>(Math.max(0, height - lines.length)).fill([])],
    bottom: [],
    regions: [],
  };
}
