import { wrapText } from "@remat/trace/text";
import type { AppState, Prompt, ScreenSize } from "../state/app-state.js";
import { exportKeys } from "../state/export-keys.js";
import { commonKeys, walkingKeys } from "../state/global-keys.js";
import { type KeyBinding, keyLabel } from "../state/key-binding.js";
import { sceneOf, viewOf } from "../state/scene-of.js";
import type { View } from "../state/view.js";
import type { Glyphs } from "../text/glyphs.js";
import { fitLine, type Line, lineWidth, type Span } from "../text/line.js";
import { showControls } from "../text/show-controls.js";

/** Number of results listed while typing. */
const listedMatches = 8;
/** Maximum lines of a notice. */
const noticeLines = 3;

/** Draws the last lines: the typed text with its results, a notice, or the most useful keys. */
export function drawBottom(
  views: readonly View[],
  state: AppState,
  { columns: width, rows }: ScreenSize,
): readonly Line[] {
  const { prompt, notice } = state;
  const { glyphs } = state.look;
  const fit = (...line: readonly Span[]): Line => fitLine(line, width, glyphs);
  switch (prompt?.kind) {
    case "search":
      return searchLines(views, state, prompt, { columns: width, rows });
    case "open":
      return [fit(...typedSpans("open: ", prompt.text, "  a path; Enter opens it, Esc cancels"))];
    case "ask":
      return [fit(...typedSpans(prompt.label, prompt.text, `  ${prompt.hint}`))];
  }
  if (state.exporting) return [fit(...exportSpans)];
  if (notice !== undefined) {
    const style = notice.kind === "warning" ? "bad" : "notice";
    // A path must be readable in full, wherever the line breaks.
    const lines = breakIntoLines(showControls(notice.text, glyphs.isAscii), width - 1);
    return lines.map((text) => fit({ text: ` ${text}`, style }));
  }
  return [drawHints(hintedKeys(views, state), width, glyphs)];
}

const exportSpans: readonly Span[] = [
  { text: "export this view as  ", style: "strong" },
  ...exportKeys.flatMap(({ key, title }): Span[] => [
    { text: `${key} `, style: "key" },
    { text: `${title}  `, style: undefined },
  ]),
  { text: "Esc cancel", style: "faint" },
];

function typedSpans(label: string, text: string, hint: string): readonly Span[] {
  return [{ text: label, style: "key" }, { text }, { text: " ", style: "activeTab" }, { text: hint, style: "faint" }];
}

function searchLines(
  views: readonly View[],
  state: AppState,
  { text, matches, chosen, total }: Extract<Prompt, { readonly kind: "search" }>,
  { columns: width, rows }: ScreenSize,
): readonly Line[] {
  const { glyphs } = state.look;
  const view = viewOf(views, state);
  const list = view.search?.(sceneOf(state, { width, height: rows }), state.own[view.name]);
  // On a low terminal, half of the height is left to the view.
  const listed = Math.min(listedMatches, Math.floor(rows / 2));
  const first = Math.max(0, Math.min(chosen - listed + 1, matches.length - listed));
  const results = matches.slice(first, first + listed).map((index, i) => {
    const isChosen = first + i === chosen;
    const result = `${isChosen ? glyphs.selected : " "} ${list?.text(index) ?? ""}`;
    return fitLine([{ text: result, style: isChosen ? "selected" : undefined }], width, glyphs);
  });
  const count = text === "" ? "" : total === 0 ? "  no match" : `  ${total} found`;
  const more = total > 0 ? "  Up and Down select, Enter goes there" : "";
  return [...results, fitLine(typedSpans("/", text, count + more), width, glyphs)];
}

/** Keys that work now, in the order in which they are shown. */
function hintedKeys(views: readonly View[], state: AppState): readonly KeyBinding[] {
  if (state.screen !== "views") return commonKeys.filter(({ action }) => action === "help" || action === "quit");
  const view = viewOf(views, state);
  return [
    ...walkingKeys(views),
    ...view.keys,
    ...commonKeys.flatMap((key) => (key.action === "search" ? [key, ...keysToPlan(views, view)] : [key])),
  ];
}

/** The next keys to press in any view: those that lead to using less memory, in order. */
function keysToPlan(views: readonly View[], on: View): readonly KeyBinding[] {
  return views.flatMap((view, index) =>
    view === on
      ? []
      : view.keys.flatMap(({ keys: [key], action }) =>
          action === "plan"
            ? [{ keys: [key], action, help: "", hint: "plan", hintKeys: `${index + 1} ${keyLabel(key)}` }]
            : [],
        ),
  );
}

function drawHints(keys: readonly KeyBinding[], width: number, glyphs: Glyphs): Line {
  const spans: Span[] = [];
  // The help key always has its place, however few columns there are.
  const last = keys.find(({ action }) => action === "help");
  let reserved = last === undefined ? 0 : lineWidth(hintOf(last));
  for (const binding of keys) {
    const item = hintOf(binding);
    if (binding === last) reserved = 0;
    if (lineWidth(spans) + lineWidth(item) + reserved <= width) spans.push(...item);
  }
  return fitLine(spans, width, glyphs);
}

function hintOf({ keys: names, hint, hintKeys }: KeyBinding): readonly Span[] {
  return hint === undefined
    ? []
    : [
        { text: ` ${hintKeys ?? keyLabel(names[0])}`, style: "key" },
        { text: ` ${hint} `, style: "faint" },
      ];
}

/** Breaks a text between words, and inside a word only if that alone is longer than a line, such as a path. */
function breakIntoLines(text: string, width: number): readonly string[] {
  return wrapText(text, width)
    .flatMap((line) =>
      Array.from({ length: Math.max(1, Math.ceil(line.length / width)) }, (_, i) =>
        line.slice(i * width, (i + 1) * width),
      ),
    )
    .slice(0, noticeLines);
}
