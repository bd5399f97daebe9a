import type { App } from "../app/app.js";
import type { StartEntry } from "../app/host.js";
import type { Area } from "../app/view.js";
import { drawTable, type TableColumn } from "../table/draw-table.js";
import { windowRows } from "../table/window-rows.js";
import { type Drawn, stack, textOnly } from "../text/drawn.js";
import { fitLine, type Line } from "../text/line.js";
import { wrap } from "../text/wrap-text.js";

const columns: readonly TableColumn<StartEntry>[] = [
  { key: "title", title: "Recent, and examples", width: 24, grow: 1, cell: ({ title }) => title },
  { key: "note", title: "", width: 20, grow: 1, cell: ({ note }) => [{ text: note, style: "faint" }] },
];

/** What is shown before a trace is: recent ones and examples; or what is being opened, with the module being traced. */
export function drawStart(app: App, { width, height }: Area): Drawn {
  const { start } = app.state;
  const { glyphs } = app;
  const paragraph = (text: string, style?: "faint" | "bad"): readonly Line[] =>
    wrap(text, width - 4).map((line): Line => [{ text: "  " }, { text: line, style }]);
  const head: readonly Line[] = [
    [],
    [
      { text: "  remat", style: "title" },
      { text: "  what a model's memory and time are spent on", style: "faint" },
    ],
    [],
  ];
  if (start.loading !== undefined)
    return textOnly(
      ...head,
      fitLine([{ text: "  opening " }, { text: start.loading.title, style: "strong" }], width, glyphs),
      fitLine([{ text: "  " }, { text: start.loading.text, style: "accent" }], width, glyphs),
      [],
      ...paragraph("Esc stops.", "faint"),
    );
  const entries = app.host.startEntries();
  const tail: readonly Line[] = [
    [],
    ...(start.error === undefined ? [] : [...paragraph(start.error, "bad"), []]),
    ...paragraph(
      "Enter opens what is chosen, O asks for a path: a model (model.json, model.js), a trace, a plan.",
      "faint",
    ),
  ];
  const room = Math.max(1, height - head.length - tail.length - 1);
  const window = windowRows({ count: entries.length, height: room, cursor: start.cursor, top: start.top });
  start.cursor = Math.max(0, window.cursor);
  start.top = window.top;
  const none = textOnly(...paragraph("Nothing has been opened yet.", "faint"));
  const list =
    entries.length === 0
      ? none
      : drawTable<StartEntry>({
          columns,
          width,
          glyphs,
          count: entries.length,
          window,
          row: (index) => entries[index],
        });
  return stack(textOnly(...head), list, textOnly(...tail));
}
