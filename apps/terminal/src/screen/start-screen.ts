import { wrapText } from "@remat/trace/text";
import type { AppState } from "../state/app-state.js";
import type { StartEntry } from "../state/opened.js";
import type { Area } from "../state/view.js";
import { drawTable, type TableColumn } from "../table/draw-table.js";
import { windowRows } from "../table/window-rows.js";
import { type Drawn, stack, textOnly } from "../text/drawn.js";
import { fitLine, type Line } from "../text/line.js";

const columns: readonly TableColumn<StartEntry>[] = [
  { key: "title", title: "Recent and examples", width: 24, grow: 1, cell: ({ title }) => title },
  { key: "note", title: "", width: 20, grow: 1, cell: ({ note }) => [{ text: note, style: "faint" }] },
];

const head: readonly Line[] = [
  [],
  [
    { text: "  remat", style: "title" },
    { text: "  where memory and time of a model go", style: "faint" },
  ],
  [],
];

function paragraph(text: string, width: number, style?: "faint" | "bad"): readonly Line[] {
  return wrapText(text, width - 4).map((line): Line => [{ text: "  " }, { text: line, style }]);
}

/** Lines below the list. */
function tailOf({ start: { error } }: AppState, width: number): readonly Line[] {
  return [
    [],
    ...(error === undefined ? [] : [...paragraph(error, width, "bad"), []]),
    ...paragraph(
      "Enter opens the selection. O asks for a path: a model (model.json, model.js), a trace or a plan.",
      width,
      "faint",
    ),
  ];
}

/** Returns how many entries fit on the screen. */
export function startRoom(state: AppState, { width, height }: Area): number {
  return Math.max(1, height - head.length - tailOf(state, width).length - 1);
}

/**
 * Draws the screen before a trace is open: recent files and examples, or the progress of opening with the module being
 * traced.
 */
export function drawStart(state: AppState, area: Area): Drawn {
  const { entries, loading, cursor, top } = state.start;
  const { glyphs } = state.look;
  const { width } = area;
  if (loading !== undefined)
    return textOnly(
      ...head,
      fitLine([{ text: "  opening " }, { text: loading.title, style: "strong" }], width, glyphs),
      fitLine([{ text: "  " }, { text: loading.text, style: "accent" }], width, glyphs),
      [],
      ...paragraph("Esc stops.", width, "faint"),
    );
  const count = entries.length;
  const list =
    count === 0
      ? textOnly(...paragraph("Nothing has been opened yet.", width, "faint"))
      : drawTable<StartEntry>({
          columns,
          width,
          glyphs,
          count,
          window: windowRows({ count, height: startRoom(state, area), cursor, top }),
          row: (index) => entries[index],
        });
  return stack(textOnly(...head), list, textOnly(...tailOf(state, width)));
}
