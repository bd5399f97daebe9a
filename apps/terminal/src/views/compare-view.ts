import {
  type ComparedModule,
  type ComparedQuantity,
  type ComparedValue,
  type CompareView as Comparison,
  compareView as compareRuns,
  compareTable,
  formatBytes,
  formatChange,
  isEstimated,
  labelCategory,
  type TimeFormat,
} from "@remat/reporting";
import { labelDevice } from "@remat/reporting/verdict";
import { wrapText } from "@remat/trace/text";
import { findModule } from "../document/find-module.js";
import { rememberLast } from "../document/memoize.js";
import { commonDevice, comparedDocuments } from "../document/run.js";
import type { TraceDocument } from "../document/trace-document.js";
import { isMatch, type Outcome, type Scene, type View, type ViewAction } from "../state/view.js";
import { drawTable, type TableColumn } from "../table/draw-table.js";
import { type ListPlace, moveBy, settlePlace } from "../table/list-place.js";
import { nextSort, type Sort, sortByHeader } from "../table/sort.js";
import { windowRows } from "../table/window-rows.js";
import { type Drawn, stack, textOnly } from "../text/drawn.js";
import { fitText } from "../text/fit-text.js";
import type { Glyphs } from "../text/glyphs.js";
import { fitLine, type Line, type Span } from "../text/line.js";

const quantities = ["memoryBytes", "savedBytes", "forwardMs", "backwardMs"] as const;
type Quantity = (typeof quantities)[number];
const quantityTexts: Readonly<Record<Quantity, string>> = {
  memoryBytes: "memory",
  savedBytes: "saved by autograd",
  forwardMs: "forward",
  backwardMs: "backward",
};
const columns = ["fqn", "before", "after", "difference", "ratio"] as const;
type CompareColumn = (typeof columns)[number];

export interface CompareState extends ListPlace {
  /** The quantity by which modules are compared. One is shown at a time. */
  readonly quantity: Quantity;
  readonly sort: Sort<CompareColumn> | undefined;
}

export type CompareKey = "nextQuantity" | "previousQuantity" | "reverse";

/** Two runs, or a recorded run next to its prediction. */
export const compareView: View<CompareState, CompareKey> = {
  name: "compare",
  title: "Compare",
  shortTitle: "Diff",
  opensFor: "comparison",
  keys: [
    { keys: ["s"], action: "nextQuantity", help: "compare modules by the next quantity", hint: "quantity" },
    { keys: ["S"], action: "previousQuantity", help: "compare modules by the previous quantity" },
    { keys: ["r"], action: "reverse", help: "sort by the difference, or reverse the order" },
  ],
  initial: () => ({ cursor: 0, top: 0, quantity: "memoryBytes", sort: undefined }),
  reduce,
  settle(scene, own) {
    return { own: settlePlace(own, rowsOf(scene, own).length, tableRoom(scene)) };
  },
  draw: drawComparison,
  search(scene, own) {
    const rows = rowsOf(scene, own);
    return { count: rows.length, text: (index) => rows[index].fqn, current: own.cursor };
  },
  table: (scene) => compareTable(comparison(scene)),
  copied: (scene, own) => rowsOf(scene, own)[own.cursor]?.fqn,
};

function reduce(scene: Scene, own: CompareState, action: ViewAction<CompareKey>): Outcome<CompareState> {
  switch (action.kind) {
    case "key":
      return { own: onKey(own, action.action) };
    case "move":
      return { own: moveBy(own, action.by, rowsOf(scene, own).length) };
    case "wheel":
      return { own: moveBy(own, 3 * action.steps, rowsOf(scene, own).length) };
    case "click": {
      const { target } = action;
      if (target.kind === "row") return { own: { ...own, cursor: target.index } };
      if (target.kind !== "header") return { own };
      return { own: { ...own, sort: sortByHeader<CompareColumn>(own.sort, columns, target.column, "fqn") } };
    }
    case "enter": {
      const module = rowsOf(scene, own)[own.cursor]?.fqn;
      // A module that exists only in the other run has no ops here.
      if (module === undefined || findModule(scene.document.tree(), module) === undefined) return { own };
      return { own, requests: [{ kind: "drillInto", view: "ops", module }] };
    }
    case "back":
      return { own, requests: [{ kind: "leave" }] };
    case "choose":
      return { own: { ...own, cursor: action.index } };
    case "typed":
    case "arrive":
    case "answer":
    case "accepted":
      return { own };
  }
}

function onKey(own: CompareState, action: CompareKey): CompareState {
  switch (action) {
    case "nextQuantity":
      return { ...own, quantity: quantityAt(own, 1) };
    case "previousQuantity":
      return { ...own, quantity: quantityAt(own, -1) };
    case "reverse":
      return { ...own, sort: nextSort(own.sort, "difference") };
  }
}

function quantityAt({ quantity }: CompareState, step: 1 | -1): Quantity {
  return quantities[(quantities.indexOf(quantity) + step + quantities.length) % quantities.length];
}

const compared = rememberLast((before: TraceDocument, after: TraceDocument, first: string, second: string) =>
  compareRuns(before.compared(first), after.compared(second)),
);

function comparison({ run, device }: Scene): Comparison {
  const { documents, names } = comparedDocuments(run, device);
  return compared(...documents, ...names);
}

const sortedRows = rememberLast(
  (modules: readonly ComparedModule[], sort: CompareState["sort"], quantity: Quantity): readonly ComparedModule[] => {
    if (sort === undefined) return modules;
    const sign = sort.descending ? -1 : 1;
    const { column } = sort;
    if (column === "fqn") return modules.toSorted((a, b) => sign * (a.fqn < b.fqn ? -1 : a.fqn > b.fqn ? 1 : 0));
    // Unknown values are last in either direction.
    const key = (module: ComparedModule): number => module[quantity][column] ?? Number.NaN;
    return modules.toSorted((a, b) => {
      const [x, y] = [key(a), key(b)];
      return Number.isNaN(x) || Number.isNaN(y) ? Number(Number.isNaN(x)) - Number(Number.isNaN(y)) : sign * (x - y);
    });
  },
);

function rowsOf(scene: Scene, { sort, quantity }: CompareState): readonly ComparedModule[] {
  return sortedRows(comparison(scene).modules, sort, quantity);
}

function factsOf(scene: Scene): readonly ComparedQuantity[] {
  const { totals, categories } = comparison(scene);
  const named = categories.map((quantity) => ({ ...quantity, name: labelCategory(quantity.name) }));
  return [...totals, ...named].slice(0, Math.max(4, Math.floor(scene.area.height * 0.4)));
}

/** Problems with either side, shown as long as the view is active. */
function noteLines(scene: Scene): readonly Line[] {
  const { width } = scene.area;
  return comparison(scene).notes.flatMap((note) =>
    wrapText(note, width, "  ").map((text): Line => [{ text, style: "bad" }]),
  );
}

/** Lines for rows of the table, below its header. */
function tableRoom(scene: Scene): number {
  return Math.max(1, scene.area.height - factsOf(scene).length - noteLines(scene).length - 5);
}

function drawComparison(scene: Scene, own: CompareState): Drawn {
  const { width } = scene.area;
  const { glyphs } = scene.look;
  const view = comparison(scene);
  const formats = formatsOf(scene);
  const rows = rowsOf(scene, own);
  const device = commonDevice(scene.run);
  const title: Line = [
    { text: view.before, style: "strong" },
    { text: " vs. ", style: "faint" },
    { text: view.after, style: "strong" },
    ...(device === undefined ? [] : [{ text: `, both for ${labelDevice(device)}`, style: "faint" as const }]),
    ...(scene.run.other === undefined
      ? [{ text: "   remat ui A B compares two; view 7 changes the prediction", style: "faint" as const }]
      : []),
  ];
  const facts = factsOf(scene);
  const [names, ...values] = factColumns(width);
  const head: Line = fitLine(
    [
      { text: fitText("", names, glyphs) },
      ...["first", "second", "difference", "in %"].map(
        (text, i): Span => ({
          text: fitText(text, values[i], glyphs, { align: "right" }),
          style: "header",
        }),
      ),
    ],
    width,
    glyphs,
  );
  const room = tableRoom(scene);
  const table = drawTable<ComparedModule>({
    columns: tableColumns(own.quantity, formats),
    width,
    glyphs,
    count: rows.length,
    window: windowRows({ count: rows.length, height: room, cursor: own.cursor, top: own.top }),
    row: (index) => rows[index],
    sort: own.sort,
    isMatch: (index) => isMatch(scene, rows[index].fqn),
  });
  return stack(
    textOnly(
      fitLine(title, width, glyphs),
      ...noteLines(scene),
      head,
      ...facts.map((fact) => fitLine(factLine(fact, [names, ...values], formats, glyphs), width, glyphs)),
    ),
    textOnly(
      [],
      [
        { text: "Modules by ", style: "faint" },
        ...quantities.flatMap((name): Span[] => [
          { text: quantityTexts[name], style: name === own.quantity ? "sorted" : "faint" },
          { text: "  " },
        ]),
        { text: "(s)", style: "faint" },
      ],
    ),
    table,
  );
}

/** Formats of the times of both sides, and of their difference. */
interface TimeFormats {
  readonly before: TimeFormat;
  readonly after: TimeFormat;
  readonly difference: TimeFormat;
}

/** A difference has no more digits than the less exact side. */
function formatsOf({ run, device }: Scene): TimeFormats {
  const [first, second] = comparedDocuments(run, device).documents;
  return {
    before: first.formatTime,
    after: second.formatTime,
    difference: isEstimated(first.trace) ? first.formatTime : second.formatTime,
  };
}

function tableColumns(quantity: Quantity, formats: TimeFormats): readonly TableColumn<ComparedModule>[] {
  const unit = quantity.endsWith("Ms") ? "ms" : "bytes";
  const right = "right" as const;
  return [
    { key: "fqn", title: "Module", width: 20, grow: 1, cut: "start", cell: ({ fqn }) => fqn },
    {
      key: "before",
      title: "First",
      width: 11,
      align: right,
      cell: (module) => amount(module[quantity].before, unit, formats.before),
    },
    {
      key: "after",
      title: "Second",
      width: 11,
      align: right,
      cell: (module) => amount(module[quantity].after, unit, formats.after),
    },
    {
      key: "difference",
      title: "Difference",
      width: 12,
      align: right,
      cell: (module) => [change(module[quantity], unit, formats)],
    },
    { key: "ratio", title: "In %", width: 10, align: right, priority: 1, cell: (module) => [ratio(module[quantity])] },
  ];
}

/**
 * Widths of the facts' columns: name, both values, their difference, and if space allows, the difference as a
 * percentage.
 */
const factColumns = (width: number): readonly number[] => (width < 77 ? [25, 11, 11, 12, 0] : [26, 13, 13, 14, 11]);

function factLine(
  { name, unit, value }: ComparedQuantity,
  [names, ...values]: readonly number[],
  formats: TimeFormats,
  glyphs: Glyphs,
): Line {
  const cells = [
    { text: amount(value.before, unit, formats.before) },
    { text: amount(value.after, unit, formats.after) },
    change(value, unit, formats),
    ratio(value),
  ];
  return [
    { text: fitText(`  ${name}`, names, glyphs) },
    ...cells.map((cell, i) => ({ ...cell, text: fitText(cell.text, values[i], glyphs, { align: "right" }) })),
  ];
}

function amount(value: number | undefined, unit: ComparedQuantity["unit"], formatTime: TimeFormat): string {
  if (value === undefined) return "?";
  return unit === "ms" ? formatTime(value) : unit === "bytes" ? formatBytes(value) : String(value);
}

/** Less is better for every quantity. */
function styleOf(difference: number | undefined): Span["style"] {
  return difference === undefined || difference === 0 ? "faint" : difference < 0 ? "good" : "bad";
}

function change({ difference }: ComparedValue, unit: ComparedQuantity["unit"], formats: TimeFormats): Span {
  const text =
    difference === undefined
      ? "?"
      : difference === 0
        ? "="
        : (difference > 0 ? "+" : "") + amount(difference, unit, formats.difference);
  return { text, style: styleOf(difference) };
}

function ratio({ ratio: value, difference }: ComparedValue): Span {
  const text = value === undefined || difference === 0 ? "" : formatChange(value);
  return { text, style: styleOf(difference) };
}
