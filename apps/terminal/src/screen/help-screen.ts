import type { App } from "../app/app.js";
import { type KeyBinding, keyLabel, keyMap, viewNames } from "../app/key-map.js";
import type { Area } from "../app/view.js";
import { type Drawn, textOnly } from "../text/drawn.js";
import { textWidth } from "../text/fit-text.js";
import { fitLine, type Line } from "../text/line.js";

const viewTitles = {
  modules: "Modules",
  ops: "Ops",
  tradeOff: "Trade-off",
  memory: "Memory",
  compare: "Compare",
  devices: "Devices and plan",
} as const;

/** The help, made from the key map: this view's own keys first, then those of everywhere, then those of other views. */
export function helpLines(app: App): readonly Line[] {
  const { view } = app.state;
  const own = keyMap.filter(({ views }) => views?.includes(view));
  const everywhere = keyMap.filter(({ views }) => views === undefined);
  const others = viewNames.filter((name) => name !== view);
  return [
    ...section(`In this view (${viewTitles[view]})`, own),
    ...section("Everywhere", everywhere),
    ...others.flatMap((name) =>
      section(
        viewTitles[name],
        keyMap.filter(({ views }) => views?.includes(name)),
      ),
    ),
    [
      {
        text: "Mouse: the wheel scrolls, a click chooses, a click on what is chosen drills in, a click on a header sorts.",
        style: "faint",
      },
    ],
  ];
}

export function drawHelp(app: App, { width, height }: Area): Drawn {
  const lines = helpLines(app);
  const { help } = app.state;
  const top = Math.max(0, Math.min(help?.top ?? 0, lines.length - height));
  if (help !== undefined) help.top = top;
  return textOnly(...lines.slice(top, top + height).map((line) => fitLine(line, width, app.glyphs)));
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
