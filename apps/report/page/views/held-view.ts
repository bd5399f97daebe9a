import { categoryColours, formatBytes, formatPercent, writeViewTable } from "@remat/reporting";
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
import { displaySafeLines } from "@remat/trace/emit";
import { fill, h, s } from "../dom.js";
import { download } from "../interaction/download.js";
import { goTo } from "../interaction/go-to.js";
import { latest } from "../latest.js";
import { describeOp, type PageContext } from "../page-context.js";
import { onThemeChange, shade } from "../theme.js";
import { exportButtons, section } from "./figure.js";
import { VirtualRows } from "./virtual-rows.js";

/** Maximum number of rows that are open at first. */
const rowsAtFirst = 24;

const columns = [
  ["Group", ""],
  ["Size", "number"],
  ["Share", "number"],
  ["Storages", "number"],
  ["Line", ""],
] as const;

/**
 * Mounts the memory in use at the selected op, or at the peak, as a tree: category, module, op, equal tensors, storage.
 */
export function mountHeld({ engine, overview, store, plan }: PageContext): HTMLElement {
  const ask = latest();
  const heading = h("h3", { "aria-live": "polite" });
  const life = h("p", { class: "note", role: "status" });
  /** Open groups of each moment, which are kept when the user returns to it. */
  const opened = new Map<number, ReadonlySet<number>>();
  let at = -2;
  let tree: HeldTree | undefined;
  let shown: HeldRows = { ids: new Int32Array(0), depths: new Uint8Array(0), parents: new Int32Array(0) };

  const rowAt = (position: number): HeldRow | undefined =>
    tree === undefined || position >= shown.ids.length
      ? undefined
      : heldRow(tree, shown.ids[position], shown.depths[position], shown.parents[position]);
  const open = (): ReadonlySet<number> => opened.get(at) ?? new Set();
  const rows = new VirtualRows({
    label: "Live tensors",
    isTree: true,
    head: h(
      "div",
      { role: "row", class: "row head", "aria-rowindex": 1 },
      ...columns.map(([label, style]) => h("div", { role: "columnheader", class: style || undefined }, label)),
    ),
    render: (position, element) => {
      const row = rowAt(position);
      if (row === undefined) return;
      fill(element, ...cellsOf(row, open().has(row.id)));
      element.setAttribute("aria-level", String(row.depth + 1));
      if (row.hasParts) element.setAttribute("aria-expanded", String(open().has(row.id)));
      else element.removeAttribute("aria-expanded");
      element.title = displaySafeLines(
        tree === undefined ? "" : `${row.label}${row.hasParts ? "" : `: ${describeLife(tree, row.id)}`}`,
      );
    },
    onChoose: (position) => {
      const row = rowAt(position);
      if (row === undefined) return;
      if (row.hasParts) setOpen(row.id, !open().has(row.id));
      else if (row.op >= 0) {
        store.update({ op: row.op, module: "", filter: "", marks: 0, phase: -1, fate: -1 });
        goTo("ops");
      } else if (tree !== undefined) fill(life, `${row.label}: ${describeLife(tree, row.id)}.`);
    },
    onKey: (key, position) => {
      const row = rowAt(position);
      if (row === undefined) return false;
      if (key === "ArrowRight" && row.hasParts) {
        if (open().has(row.id)) rows.reveal(position + 1);
        else setOpen(row.id, true);
      } else if (key === "ArrowLeft") {
        if (open().has(row.id)) setOpen(row.id, false);
        else if (shown.parents[position] >= 0) rows.reveal(shown.ids.indexOf(shown.parents[position]));
      } else return false;
      return true;
    },
  });
  const list = (): void => {
    if (tree === undefined) return;
    shown = heldTreeRows(tree, open());
    rows.show(shown.ids.length);
  };
  const setOpen = (id: number, isOpen: boolean): void => {
    const next = new Set(open());
    if (isOpen) next.add(id);
    else next.delete(id);
    opened.set(at, next);
    list();
  };
  const setAll = (next: ReadonlySet<number>): void => {
    opened.set(at, next);
    list();
  };
  const button = (label: string, act: () => void): HTMLElement => h("button", { type: "button", onclick: act }, label);
  const atPeak = button("At the peak", () => store.update({ op: -1 }));

  onThemeChange(() => rows.redraw());
  const askFor = (): void => {
    const { op } = store.state;
    const wanted = op < overview.ops.count ? op : -1;
    const { index, plan: shownPlan } = plan.shown;
    ask(
      () => engine.held(wanted, index),
      (answer) => {
        at = wanted;
        tree = answer;
        if (!opened.has(at)) opened.set(at, openLargest(tree, rowsAtFirst));
        const { totalBytes, count } = tree.held;
        const under = shownPlan === undefined ? "" : ` under ${shownPlan.name || "the plan"}`;
        fill(
          heading,
          `${at < 0 ? "At the peak" : `After ${describeOp(overview, at)}`}${under}: ${formatBytes(totalBytes)} in ${count.toLocaleString("en")} storages`,
        );
        fill(life, "Enter or a click opens a group. On a storage it goes to the op that allocated it.");
        atPeak.hidden = at < 0;
        list();
      },
    );
  };
  store.follow((_state, changed) => changed.has("op") && askFor());
  plan.follow(() => {
    // Another plan has other group numbers.
    opened.clear();
    askFor();
  });
  return section(
    "held",
    "Live tensors",
    h(
      "div",
      { class: "toolbar" },
      heading,
      h(
        "span",
        { class: "exports" },
        atPeak,
        button("Open all", () => tree !== undefined && setAll(openAll(tree))),
        button("Close all", () => setAll(new Set())),
      ),
      exportButtons(`${overview.meta.title}-held`, undefined, () => {
        if (tree === undefined) return;
        const name = `${overview.meta.title}-held`;
        download(`${name}.csv`, [writeViewTable(heldTreeTable(tree, name), "csv")], "text/csv");
      }),
    ),
    rows.element,
    life,
    h(
      "p",
      { class: "note narrow-hint" },
      "A wider screen and the CSV file also show the number of storages, their size and the source line.",
    ),
  );
}

function cellsOf(row: HeldRow, isOpen: boolean): HTMLElement[] {
  const { label, category, bytes, share, count, eachBytes, line, depth, hasParts, makers } = row;
  const colour = shade(categoryColours[category]);
  const cell = (style: string, ...children: Parameters<typeof fill>[1][]): HTMLElement =>
    h("div", { role: "gridcell", class: style || undefined }, ...children);
  const counted =
    count === 1
      ? ""
      : eachBytes === undefined
        ? count.toLocaleString("en")
        : `${count.toLocaleString("en")} × ${formatBytes(eachBytes)}`;
  return [
    cell(
      "tree",
      h(
        "span",
        { class: `twisty depth-${Math.min(depth, 6)}`, "aria-hidden": "true" },
        hasParts ? (isOpen ? "▾" : "▸") : "",
      ),
      depth === 0 &&
        s(
          "svg",
          { class: "swatch", viewBox: "0 0 10 10", "aria-hidden": "true" },
          s("rect", { width: 10, height: 10, fill: colour }),
        ),
      h("span", {}, label, makers !== "" && h("span", { class: "faint" }, `  ${makers}`)),
    ),
    cell("number", formatBytes(bytes)),
    cell(
      "number share",
      s(
        "svg",
        { class: "share", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
        s("rect", { width: Math.max(0.5, 100 * share), height: 10, fill: colour }),
      ),
      formatPercent(share),
    ),
    cell("number", counted),
    cell("", line ?? ""),
  ];
}
