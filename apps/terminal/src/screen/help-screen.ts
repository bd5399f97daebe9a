import type { AppState } from "../state/app-state.js";
import { globalKeys } from "../state/global-keys.js";
import { type KeyBinding, keyLabel } from "../state/key-binding.js";
import { viewOf } from "../state/scene-of.js";
import type { Area, View } from "../state/view.js";
import { type Drawn, textOnly } from "../text/drawn.js";
import { textWidth } from "../text/fit-text.js";
import { fitLine, type Line } from "../text/line.js";

/** Returns the help, made from the keys: this view's own first, then those of everywhere, then those of other views. */
export function helpLines(views: readonly View[], current: View): readonly Line[] {
  return [
    ...section(`In this view (${current.title})`, current.keys),
    ...section("Everywhere", globalKeys(views)),
    ...views.filter((view) => view !== current).flatMap(({ title, keys }) => section(title, keys)),
    [
      {
        text: "Mouse: the wheel scrolls, a click chooses, a click on what is chosen drills in, a click on a header sorts.",
        style: "faint",
      },
    ],
  ];
}

/** Returns the first line of the help that can be on the screen, nearest to a wanted one. */
export function settleHelp(views: readonly View[], state: AppState, top: number, height: number): number {
  return Math.max(0, Math.min(top, helpLines(views, viewOf(views, state)).length - height));
}

/** Draws the part of the help that is on the screen. */
export function drawHelp(views: readonly View[], state: AppState, { width, height }: Area): Drawn {
  const top = settleHelp(views, state, state.help?.top ?? 0, height);
  const lines = helpLines(views, viewOf(views, state)).slice(top, top + height);
  return textOnly(...lines.map((line) => fitLine(line, width, state.look.glyphs)));
}

function section(title: string, bindings: readonly KeyBinding[]): readonly Line[] {
  if (bindings.length === 0) return [];
  return [
    [{ text: title, style: "title" }],
    ...bindings.map(({ keys, help }): Line => {
      const label =
        keys.length > 4 ? `${keyLabel(keys[0])} to ${keyLabel(keys[keys.length - 1])}` : keys.map(keyLabel).join(", ");
      return [{ text: `  ${label}${" ".repeat(Math.max(1, 22 - textWidth(label)))}`, style: "key" }, { text: help }];
    }),
    [],
  ];
}
