import { formatBytes, labelCategory, type ViewTable } from "@remat/reporting";
import { answerFirst } from "@remat/reporting/answers";
import {
  describeLife,
  type HeldRow,
  type HeldRows,
  type HeldTree,
  heldRow,
  heldTreeRows,
  heldTreeTable,
  openAll,
  openLargest,
} from "@remat/reporting/held-tree";
import { type Verdict } from "@remat/reporting/verdict";
import { wrapText } from "@remat/trace/text";
import { rememberLast } from "../document/memoize.js";
import { verdictOf } from "../document/run.js";
import type { TraceDocument } from "../document/trace-document.js";
import { heldColumns, inGlyphs } from "../drawing/held-columns.js";
import { isMatch, type Outcome, type Scene, type View, type ViewAction } from "../state/view.js";
import { drawTable } from "../table/draw-table.js";
import { type ListPlace, moveBy, settlePlace } from "../table/list-place.js";
import { windowRows } from "../table/window-rows.js";
import { type Drawn, stack, textOnly } from "../text/drawn.js";
import { fitLine, type Line } from "../text/line.js";
import { note } from "../text/note.js";

export interface HeldState extends ListPlace {
  /** The op after which memory is shown. -1: at the peak. */
  readonly op: number;
  /** Groups whose parts are shown. Undefined: the largest ones that fit. */
  readonly open: ReadonlySet<number> | undefined;
}

export type HeldKey = "right" | "left" | "expandAll" | "collapseAll" | "peak";

/** Memory in use at the peak, or after an op, as a tree: category, module, op, equal tensors, storage. */
export const heldView: View<HeldState, HeldKey> = {
  name: "held",
  title: "Live",
  terms: [["storage", "what memory is spent on: the data of a tensor and of all its views"]],
  keys: [
    { keys: ["right", "l"], action: "right", help: "open the group", hint: "open", hintKeys: "Left Right" },
    { keys: ["left", "h"], action: "left", help: "close it, or go to its parent" },
    { keys: ["*"], action: "expandAll", help: "open all" },
    { keys: ["-"], action: "collapseAll", help: "close all" },
    { keys: ["p"], action: "peak", help: "live tensors at the peak" },
  ],
  initial: () => ({ cursor: 0, top: 0, op: -1, open: undefined }),
  reduce,
  settle: (scene, own) => ({ own: settlePlace(own, shown(scene, own).ids.length, tableRoom(scene, own)) }),
  draw: drawHeld,
  search(scene, own) {
    const tree = treeOf(scene, own);
    if (tree === undefined) return undefined;
    const all = allRows(tree);
    return {
      count: all.ids.length,
      text: (index) => rowAt(tree, all, index).label,
      current: all.ids.indexOf(shown(scene, own).ids[own.cursor] ?? 0),
    };
  },
  table: exportTable,
  copied(scene, own) {
    const tree = treeOf(scene, own);
    const rows = shown(scene, own);
    return tree === undefined || rows.ids.length === 0 ? undefined : rowAt(tree, rows, own.cursor).label;
  },
};

function reduce(scene: Scene, own: HeldState, action: ViewAction<HeldKey>): Outcome<HeldState> {
  const rows = shown(scene, own);
  switch (action.kind) {
    case "key":
      return { own: onKey(scene, own, action.action) };
    case "move":
      return { own: moveBy(own, action.by, rows.ids.length) };
    case "wheel":
      return { own: moveBy(own, 3 * action.steps, rows.ids.length) };
    case "click":
      if (action.target.kind !== "row") return { own };
      if (own.cursor === action.target.index) return enter(scene, own);
      return { own: { ...own, cursor: action.target.index } };
    case "enter":
      return enter(scene, own);
    case "back":
      return { own, requests: [{ kind: "leave" }] };
    case "choose":
      return { own: reveal(scene, own, action.index) };
    case "arrive":
      return { own: { ...own, cursor: 0, top: 0, op: action.op ?? -1, open: undefined } };
    case "typed":
    case "answer":
    case "accepted":
      return { own };
  }
}

function onKey(scene: Scene, own: HeldState, action: HeldKey): HeldState {
  const tree = treeOf(scene, own);
  const rows = shown(scene, own);
  if (action === "peak") return own.op < 0 ? own : { ...own, op: -1, cursor: 0, top: 0, open: undefined };
  // If no memory is in use there is no row to open.
  if (tree === undefined || rows.ids.length === 0) return own;
  const id = rows.ids[own.cursor];
  const open = openOf(tree, own);
  switch (action) {
    case "right":
      if (id < 0) return own;
      return open.has(id) ? moveBy(own, 1, rows.ids.length) : { ...own, open: new Set([...open, id]) };
    case "left": {
      if (open.has(id)) return { ...own, open: new Set([...open].filter((group) => group !== id)) };
      const around = rows.parents[own.cursor];
      return around < 0 ? own : { ...own, cursor: rows.ids.indexOf(around) };
    }
    case "expandAll":
      return { ...own, open: openAll(tree), cursor: Math.max(0, allRows(tree).ids.indexOf(id)) };
    case "collapseAll":
      return { ...own, open: new Set(), cursor: Math.max(0, tree.roots.indexOf(rootOf(tree, rows, own.cursor))) };
  }
}

/** Opens or closes a group. For a storage, goes to the op that allocated it. */
function enter(scene: Scene, own: HeldState): Outcome<HeldState> {
  const tree = treeOf(scene, own);
  const rows = shown(scene, own);
  if (tree === undefined || rows.ids.length === 0) return { own };
  const { id, hasParts, op, label } = rowAt(tree, rows, own.cursor);
  if (hasParts) {
    const open = openOf(tree, own);
    return { own: { ...own, open: new Set(open.has(id) ? [...open].filter((group) => group !== id) : [...open, id]) } };
  }
  const inTrace = op < 0 ? undefined : scene.document.opInTrace(op);
  if (inTrace === undefined)
    return {
      own,
      requests: [
        {
          kind: "tell",
          text:
            op < 0 ? `${label}: ${describeLife(tree, id)}` : `op ${op} is not in the trace: it was added by sharding`,
        },
      ],
    };
  const module = scene.document.trace.opModule(inTrace)?.fqn ?? scene.module;
  return { own, requests: [{ kind: "drillInto", view: "ops", module, op: inTrace }] };
}

/** Puts the cursor on a search result, and opens the groups around it. */
function reveal(scene: Scene, own: HeldState, index: number): HeldState {
  const tree = treeOf(scene, own);
  if (tree === undefined) return own;
  const all = allRows(tree);
  const open = new Set(openOf(tree, own));
  for (let group = all.parents[index]; group >= 0; group = tree.groups[group].parent) open.add(group);
  return { ...own, open, cursor: rowsOf(tree, open).ids.indexOf(all.ids[index]) };
}

function rootOf(tree: HeldTree, rows: HeldRows, cursor: number): number {
  let group = rows.parents[cursor] >= 0 ? rows.parents[cursor] : rows.ids[cursor];
  while (tree.groups[group].parent >= 0) group = tree.groups[group].parent;
  return group;
}

/** Maximum number of rows that are open at first. */
const rowsAtFirst = 20;
const openFirst = rememberLast((tree: HeldTree) => openLargest(tree, rowsAtFirst));
const rowsOf = rememberLast((tree: HeldTree, open: ReadonlySet<number>) => heldTreeRows(tree, open));
const allRows = rememberLast((tree: HeldTree) => heldTreeRows(tree, openAll(tree)));

const noRows: HeldRows = { ids: new Int32Array(0), depths: new Uint8Array(0), parents: new Int32Array(0) };

const openOf = (tree: HeldTree, { open }: HeldState): ReadonlySet<number> => open ?? openFirst(tree);

function treeOf(scene: Scene, own: HeldState): HeldTree | undefined {
  return scene.document.held(momentOf(scene, own));
}

/** The op after which memory is shown. -1: at the peak, which is also used if the step does not have that op. */
function momentOf({ document }: Scene, { op }: HeldState): number {
  return op >= document.memoryTrace().ops.count ? -1 : op;
}

function shown(scene: Scene, own: HeldState): HeldRows {
  const tree = treeOf(scene, own);
  return tree === undefined ? noRows : rowsOf(tree, openOf(tree, own));
}

function rowAt(tree: HeldTree, { ids, depths, parents }: HeldRows, index: number): HeldRow {
  return heldRow(tree, ids[index], depths[index], parents[index]);
}

const answersOf = rememberLast((document: TraceDocument, verdict: Verdict | undefined) =>
  answerFirst(document.memoryTrace(), {
    verdict,
    tree: document.held(-1),
    idle: document.idle(),
  }),
);

/** The memory and its moment, and at the peak the savings with no slowdown. */
function headOf(scene: Scene, own: HeldState): readonly Line[] {
  const { document, area, look } = scene;
  const tree = treeOf(scene, own);
  if (tree === undefined)
    return note("The trace does not record when storages are freed, so live tensors are unknown.", area.width).lines;
  const { totalBytes, count } = tree.held;
  const trace = document.memoryTrace();
  const op = momentOf(scene, own);
  const at = op < 0 ? "at the peak" : `after op ${op} ${trace.opName(op)}`;
  const title: Line = [
    { text: `${document.name.title}  `, style: "strong" },
    { text: formatBytes(totalBytes), style: "warning" },
    { text: ` ${at}`, style: "strong" },
    { text: ` in ${count} storages`, style: "faint" },
    ...(op < 0 ? [] : [{ text: "   p: at the peak", style: "faint" as const }]),
  ];
  if (op >= 0) return [fitLine(title, area.width, look.glyphs)];
  const free = answersOf(document, verdictOf(scene.run)).find(({ about }) => about === "free");
  const told =
    free === undefined
      ? ""
      : [free.answer === "" ? [] : [`Savings with no slowdown: ${free.answer.replace(/^Yes, /, "")}.`], free.reasons]
          .flat()
          .join(" ");
  const lines = told === "" ? [] : wrapText(told, area.width).slice(0, area.height < 14 ? 1 : 4);
  return [
    fitLine(title, area.width, look.glyphs),
    ...lines.map((text): Line => fitLine([{ text, style: "accent" }], area.width, look.glyphs)),
  ];
}

/** The lifetime of the storage at the cursor. */
function lifeOf(scene: Scene, own: HeldState): readonly Line[] {
  const tree = treeOf(scene, own);
  const rows = shown(scene, own);
  if (tree === undefined || rows.ids.length === 0 || scene.area.height < 12) return [];
  const { id, label, line, category, depth } = rowAt(tree, rows, Math.min(own.cursor, rows.ids.length - 1));
  const text =
    id < 0 ? describeLife(tree, id) : depth === 0 ? "" : `${label} (${labelCategory(category).toLowerCase()})`;
  return [
    fitLine(
      [
        { text: inGlyphs(text, scene.look.glyphs), style: "faint" },
        ...(line === undefined ? [] : [{ text: `  ${line}`, style: "accent" as const }]),
      ],
      scene.area.width,
      scene.look.glyphs,
    ),
  ];
}

function tableRoom(scene: Scene, own: HeldState): number {
  return Math.max(1, scene.area.height - headOf(scene, own).length - 1 - lifeOf(scene, own).length);
}

function drawHeld(scene: Scene, own: HeldState): Drawn {
  const { width, height } = scene.area;
  const { glyphs } = scene.look;
  const tree = treeOf(scene, own);
  const head = headOf(scene, own);
  if (tree === undefined) return textOnly(...head);
  const rows = shown(scene, own);
  const room = tableRoom(scene, own);
  const table = drawTable<HeldRow>({
    columns: heldColumns(scene.document, tree, openOf(tree, own), glyphs),
    width,
    glyphs,
    count: rows.ids.length,
    window: windowRows({ count: rows.ids.length, height: room, cursor: own.cursor, top: own.top }),
    row: (index) => rowAt(tree, rows, index),
    isMatch: (index) => isMatch(scene, rowAt(tree, rows, index).label),
    height: room,
  });
  const drawn = stack(textOnly(...head), table, textOnly(...lifeOf(scene, own)));
  return { lines: drawn.lines.slice(0, height), regions: drawn.regions };
}

function exportTable(scene: Scene, own: HeldState): ViewTable {
  const tree = treeOf(scene, own);
  const op = momentOf(scene, own);
  const title = `Live tensors of ${scene.document.name.title}, ${op < 0 ? "at the peak" : `after op ${op}`}`;
  return tree === undefined ? { title, columns: ["storage", "bytes"], rows: [] } : heldTreeTable(tree, title);
}
