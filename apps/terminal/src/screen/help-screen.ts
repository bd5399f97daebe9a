import { wrapText } from "@remat/trace/text";
import type { AppState } from "../state/app-state.js";
import { globalKeys } from "../state/global-keys.js";
import { type KeyBinding, keyLabel } from "../state/key-binding.js";
import { viewOf } from "../state/scene-of.js";
import type { Area, View } from "../state/view.js";
import { type Drawn, textOnly } from "../text/drawn.js";
import { textWidth } from "../text/fit-text.js";
import { fitLine, type Line } from "../text/line.js";

/** Columns of the keys, or of a term. */
const labelWidth = 24;

/**
 * Returns the help, generated from the keys: this view's own first, then global ones, then those of other views. It is
 * complete at any screen width.
 */
export function helpLines(views: readonly View[], current: View, width: number): readonly Line[] {
  const { terms = [] } = current;
  return [
    ...section(`In this view (${current.title})`, [...current.keys.map(keyItem), ...terms], width),
    ...section("Everywhere", globalKeys(views).map(keyItem), width),
    ...views.filter((view) => view !== current).flatMap(({ title, keys }) => section(title, keys.map(keyItem), width)),
    ...wrapText(
      "Mouse: the wheel scrolls, a click selects, a click on the selection drills in, a click on a header sorts.",
      width,
    ).map((text): Line => [{ text, style: "faint" }]),
  ];
}

/** Returns the first visible line of the help, as near as possible to the wanted one. */
export function settleHelp(views: readonly View[], state: AppState, top: number, { width, height }: Area): number {
  return Math.max(0, Math.min(top, helpLines(views, viewOf(views, state), width).length - height));
}

/** Draws the visible part of the help. */
export function drawHelp(views: readonly View[], state: AppState, area: Area): Drawn {
  const { width, height } = area;
  const top = settleHelp(views, state, state.help?.top ?? 0, area);
  const lines = helpLines(views, viewOf(views, state), width).slice(top, top + height);
  return textOnly(...lines.map((line) => fitLine(line, width, state.look.glyphs)));
}

type Item = readonly [label: string, text: string];

function keyItem({ keys, help }: KeyBinding): Item {
  const label =
    keys.length > 4 ? `${keyLabel(keys[0])} to ${keyLabel(keys[keys.length - 1])}` : keys.map(keyLabel).join(", ");
  return [label, help];
}

function section(title: string, items: readonly Item[], width: number): readonly Line[] {
  if (items.length === 0) return [];
  return [[{ text: title, style: "title" }], ...items.flatMap((item) => itemLines(item, width)), []];
}

function itemLines([label, text]: Item, width: number): readonly Line[] {
  const head = `  ${label}${" ".repeat(Math.max(1, labelWidth - 2 - textWidth(label)))}`;
  return wrapText(text, width - textWidth(head)).map(
    (line, i): Line => [{ text: i === 0 ? head : " ".repeat(textWidth(head)), style: "key" }, { text: line }],
  );
}
