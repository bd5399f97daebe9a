import {
  type ComparedModule,
  type ComparedQuantity,
  type ComparedValue,
  type CompareView,
  compareView as compareRuns,
  compareTable,
  formatBytes,
  formatPercent,
} from "@remat/reporting";
import type { App } from "../app/app.js";
import type { CompareState } from "../app/app-state.js";
import type { Area, View } from "../app/view.js";
import { drawTable, type TableColumn } from "../table/draw-table.js";
import { nextSort } from "../table/next-sort.js";
import { windowRows } from "../table/window-rows.js";
import { type Drawn, stack, textOnly } from "../text/drawn.js";
import { fitText } from "../text/fit-text.js";
import { formatTime } from "../text/format-time.js";
import { fitLine, type Line, type Span } from "../text/line.js";

const quantities = ["memoryBytes", "savedBytes", "forwardMs", "backwardMs"] as const;
const quantityTexts: Readonly<Record<CompareState["quantity"], string>> = {
  memoryBytes: "memory",
  savedBytes: "saved by autograd",
  forwardMs: "forward",
  backwardMs: "backward",
};

/** Two runs, or a run as it was recorded beside what is predicted of it. */
export const comparisonView: View = {
  name: "compare",
  title: "Compare",
  draw: drawComparison,
  move(app, by) {
    const { compare } = app.state;
    compare.cursor = Math.max(0, Math.min(rowsOf(app).length - 1, compare.cursor + by));
  },
  click(app, target) {
    const { compare } = app.state;
    if (target.kind === "row") compare.cursor = target.index;
    else if (target.kind === "header")
      compare.sort = nextSort(compare.sort, target.column as NonNullable<CompareState["sort"]>["column"], "fqn");
  },
  actions: {
    // There are four quantities, of which one is shown; sorting is by it.
    sortNext: (app) => showQuantity(app, 1),
    sortPrevious: (app) => showQuantity(app, -1),
    reverse(app) {
      const { compare } = app.state;
      compare.sort = nextSort(compare.sort, "difference");
    },
    enter(app) {
      const module = rowsOf(app)[app.state.compare.cursor];
      if (module !== undefined && app.selectModule(module.fqn)) app.state.view = "ops";
    },
    back: (app) => {
      app.state.view = "modules";
    },
  },
  search: (app) => {
    const rows = rowsOf(app);
    return {
      count: rows.length,
      text: (index) => rows[index].fqn,
      current: app.state.compare.cursor,
      show: (index) => {
        app.state.compare.cursor = index;
      },
    };
  },
  table: (app) => compareTable(comparison(app)),
  copied: (app) => rowsOf(app)[app.state.compare.cursor]?.fqn,
};

function comparison(app: App): CompareView {
  const { documents, names } = app.comparedDocuments();
  return app.remember("compare", [...documents, ...names], () =>
    compareRuns(documents[0].compared(names[0]), documents[1].compared(names[1])),
  );
}

function rowsOf(app: App): readonly ComparedModule[] {
  const { sort, quantity } = app.state.compare;
  const { modules } = comparison(app);
  return app.remember("compare.rows", [modules, sort, quantity], () => {
    if (sort === undefined) return modules;
    const sign = sort.descending ? -1 : 1;
    const { column } = sort;
    if (column === "fqn") return modules.toSorted((a, b) => sign * (a.fqn < b.fqn ? -1 : a.fqn > b.fqn ? 1 : 0));
    // What is not known comes last either way.
    const key = (module: ComparedModule): number => module[quantity][column] ?? Number.NaN;
    return modules.toSorted((a, b) => {
      const [x, y] = [key(a), key(b)];
      return Number.isNaN(x) || Number.isNaN(y) ? Number(Number.isNaN(x)) - Number(Number.isNaN(y)) : sign * (x - y);
    });
  });
}

function drawComparison(app: App, { width, height }: Area): Drawn {
  const { glyphs } = app;
  const { compare } = app.state;
  const view = comparison(app);
  const rows = rowsOf(app);
  const title: Line = [
    { text: view.before, style: "strong" },
    { text: " beside ", style: "faint" },
    { text: view.after, style: "strong" },
    ...(app.other === undefined
      ? [{ text: "   remat ui A B compares two; view 6 changes what is predicted", style: "faint" as const }]
      : []),
  ];
  const facts = [...view.totals, ...view.categories].slice(0, Math.max(4, Math.floor(height * 0.4)));
  const head: Line = fitLine(
    [
      { text: fitText("", 26, glyphs) },
      { text: fitText("first", 13, glyphs, { align: "right" }), style: "header" },
      { text: fitText("second", 13, glyphs, { align: "right" }), style: "header" },
      { text: fitText("difference", 14, glyphs, { align: "right" }), style: "header" },
      { text: fitText("in %", 11, glyphs, { align: "right" }), style: "header" },
    ],
    width,
    glyphs,
  );
  const room = Math.max(1, height - facts.length - 5);
  const window = windowRows({ count: rows.length, height: room, cursor: compare.cursor, top: compare.top });
  compare.cursor = Math.max(0, window.cursor);
  compare.top = window.top;
  const table = drawTable<ComparedModule>({
    columns: tableColumns(compare.quantity),
    width,
    glyphs,
    count: rows.length,
    window,
    row: (index) => rows[index],
    sort: compare.sort,
    isMatch: (index) => app.isMatch(rows[index].fqn),
  });
  return stack(
    textOnly(fitLine(title, width, glyphs), head, ...facts.map((fact) => fitLine(factLine(fact, app), width, glyphs))),
    textOnly(
      [],
      [
        { text: "Modules by ", style: "faint" },
        ...quantities.flatMap((name): Span[] => [
          { text: quantityTexts[name], style: name === compare.quantity ? "sorted" : "faint" },
          { text: "  " },
        ]),
        { text: "(s)", style: "faint" },
      ],
    ),
    table,
  );
}

function tableColumns(quantity: CompareState["quantity"]): readonly TableColumn<ComparedModule>[] {
  const unit = quantity.endsWith("Ms") ? "ms" : "bytes";
  const right = "right" as const;
  return [
    { key: "fqn", title: "Module", width: 20, grow: 1, cut: "start", cell: ({ fqn }) => fqn },
    { key: "before", title: "First", width: 11, align: right, cell: (module) => amount(module[quantity].before, unit) },
    { key: "after", title: "Second", width: 11, align: right, cell: (module) => amount(module[quantity].after, unit) },
    {
      key: "difference",
      title: "Difference",
      width: 12,
      align: right,
      cell: (module) => [change(module[quantity], unit)],
    },
    { key: "ratio", title: "In %", width: 10, align: right, cell: (module) => [ratio(module[quantity])] },
  ];
}

function factLine({ name, unit, value }: ComparedQuantity, { glyphs }: App): Line {
  const right = (span: Span, width: number): Span => ({
    ...span,
    text: fitText(span.text, width, glyphs, { align: "right" }),
  });
  return [
    { text: fitText(`  ${name}`, 26, glyphs) },
    right({ text: amount(value.before, unit) }, 13),
    right({ text: amount(value.after, unit) }, 13),
    right(change(value, unit), 14),
    right(ratio(value), 11),
  ];
}

function amount(value: number | undefined, unit: ComparedQuantity["unit"]): string {
  if (value === undefined) return "?";
  return unit === "ms" ? formatTime(value) : unit === "bytes" ? formatBytes(value) : String(value);
}

/** Less is better, whatever is compared. */
function styleOf(difference: number | undefined): Span["style"] {
  return difference === undefined || difference === 0 ? "faint" : difference < 0 ? "good" : "bad";
}

function change({ difference }: ComparedValue, unit: ComparedQuantity["unit"]): Span {
  const text =
    difference === undefined ? "?" : difference === 0 ? "=" : (difference > 0 ? "+" : "") + amount(difference, unit);
  return { text, style: styleOf(difference) };
}

function ratio({ ratio: value, difference }: ComparedValue): Span {
  const text = value === undefined || difference === 0 ? "" : (value > 0 ? "+" : "") + formatPercent(value);
  return { text, style: styleOf(difference) };
}

function showQuantity(app: App, step: 1 | -1): void {
  const { compare } = app.state;
  const at = quantities.indexOf(compare.quantity) + step + quantities.length;
  compare.quantity = quantities[at % quantities.length];
}
