import type { AppState } from "../state/app-state.js";
import { viewOf } from "../state/scene-of.js";
import type { View } from "../state/view.js";
import { type Drawn, type Region, textOnly } from "../text/drawn.js";
import { fitText, textWidth } from "../text/fit-text.js";
import { fitLine, lineWidth, type Span } from "../text/line.js";
import { drawVerdict } from "./draw-verdict.js";

/** Below this width tabs have the first word or two of their titles. */
const wideColumns = 110;

/** Draws the lines above a view: its tab among the others, and what is shown for which device. */
export function drawTitle(views: readonly View[], state: AppState, width: number): Drawn {
  const { glyphs } = state.look;
  const name: Span = { text: " remat ", style: "title" };
  if (state.screen !== "views" || state.run === undefined) return textOnly(fitLine([name], width, glyphs));
  const spans: Span[] = [name];
  const regions: Region[] = [];
  for (const [number, view] of views.entries()) {
    const title = width < wideColumns ? view.title.replace(/ and.*/, "") : view.title;
    const text = ` ${number + 1} ${title} `;
    regions.push({ x: lineWidth(spans), y: 0, width: textWidth(text), height: 1, target: { kind: "view", number } });
    spans.push({ text, style: view === viewOf(views, state) ? "activeTab" : "tab" });
  }
  const { rememberedDevice } = state.run;
  const { name: document, settings } = state.run.document;
  const isRemembered = rememberedDevice !== undefined && rememberedDevice === settings.device?.name;
  const device = `${settings.device?.name ?? "as recorded"}${isRemembered ? " (remembered)" : ""}`;
  const right = `${document.title} ${glyphs.separator} ${device}${settings.worldSize > 1 ? ` × ${settings.worldSize}` : ""} `;
  const left = width - lineWidth(spans) - 1;
  if (left >= 12)
    spans.push({ text: ` ${fitText(right, left, glyphs, { align: "right", cut: "start" })}`, style: "faint" });
  return {
    lines: [fitLine(spans, width, glyphs), drawVerdict(views, state.run.document, width, glyphs)],
    regions,
  };
}
