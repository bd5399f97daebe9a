import { formatBytes } from "@remat/reporting";
import { timeFormatOf } from "../../src/data/time-format-of.js";
import { fill, h } from "../dom.js";
import type { OpAnswer, PlanAnswer } from "../engine/answers.js";
import { latest } from "../latest.js";
import type { PageContext } from "../page-context.js";
import { exportButtons, section } from "./figure.js";
import { columnsOf, exportOpsCsv, type OpColumn } from "./op-columns.js";
import { opFilters } from "./op-filters.js";
import type { ShownPolicy } from "./policy-feed.js";
import { VirtualRows } from "./virtual-rows.js";

/** Mounts all ops of the run in a table that can be sorted and filtered and shares the page's selection. */
export function mountOpsTable(context: PageContext): HTMLElement {
  const { engine, overview, store, policies } = context;
  const ask = latest();
  let answer: OpAnswer = { rows: new Int32Array(0), memoryBytes: 0, runtimeMs: 0 };
  let policy: ShownPolicy = { fate: undefined, columns: undefined };
  let fates: PlanAnswer | undefined;
  const status = h("p", { class: "note", role: "status" });
  const filters = opFilters(store);
  const columns = columnsOf(overview);
  const hasPlans = overview.meta.followed.length > 0;

  const headers = columns.map((column) => {
    const button = h("button", { type: "button", tabindex: -1, onclick: () => sortBy(column) }, column.label);
    return {
      column,
      button,
      element: h(
        "div",
        { role: "columnheader", class: column.isNumber ? "number" : undefined, title: column.title },
        button,
      ),
    };
  });
  headers[0].button.tabIndex = 0;
  const head = h(
    "div",
    { role: "row", class: "row head", "aria-rowindex": 1 },
    ...headers.map(({ element }) => element),
  );
  const rows = new VirtualRows({
    label: "Ops",
    head,
    render: (position, row) => {
      const op = answer.rows[position];
      fill(
        row,
        ...columns.map((column) =>
          h(
            "div",
            { role: "gridcell", class: column.isNumber ? "number" : undefined },
            column.text({ overview, policy, plan: fates }, op),
          ),
        ),
      );
      row.classList.toggle("selected", op === store.state.op);
      row.setAttribute("aria-selected", String(op === store.state.op));
    },
    onChoose: (position) => store.update({ op: answer.rows[position] }),
  });

  function sortBy({ key }: OpColumn): void {
    const { sort, order } = store.state;
    const isSame = sort === key;
    store.update({
      sort: key,
      order: isSame
        ? order === "up"
          ? "down"
          : "up"
        : key === "op" || key === "name" || key === "module"
          ? "up"
          : "down",
    });
  }
  head.addEventListener("keydown", (event) => {
    const at = headers.findIndex(({ button }) => button === document.activeElement);
    const next = event.key === "ArrowRight" ? at + 1 : event.key === "ArrowLeft" ? at - 1 : -1;
    if (at < 0 || next < 0 || next >= headers.length) return;
    event.preventDefault();
    event.stopPropagation();
    headers[at].button.tabIndex = -1;
    headers[next].button.tabIndex = 0;
    headers[next].button.focus();
  });

  const askForRows = (): void => {
    const { module, filter, marks, phase, fate, sort, order } = store.state;
    ask(
      () =>
        engine.query(
          { module, text: filter, marks, phase, fate, sort, isDescending: order === "down" },
          sort === "fate" || fate >= 0 ? policy.fate : undefined,
          sort === "msps" || sort === "freed" ? policy.columns?.[sort] : sort === "plan" ? fates?.fates : undefined,
        ),
      (found) => {
        answer = found;
        rows.show(found.rows.length);
        const all = overview.ops.count;
        fill(
          status,
          `${found.rows.length.toLocaleString("en")} of ${all.toLocaleString("en")} ` +
            `ops${module === "" ? "" : ` in ${module}`}: ${formatBytes(found.memoryBytes)}, ${timeFormatOf(overview.meta)(found.runtimeMs)}`,
        );
        reveal();
      },
    );
  };
  /** Brings the selected op into view, if it is among the rows. */
  const reveal = (): void => {
    const { op, sort, order } = store.state;
    if (op < 0) return;
    const position = sort === "op" && order === "up" ? lowerBound(answer.rows, op) : answer.rows.indexOf(op);
    if (position >= 0 && answer.rows[position] === op) rows.reveal(position);
    else rows.redraw();
  };
  rows.element.classList.toggle("with-plan", hasPlans);
  context.plan.follow(({ answer: next }) => {
    fates = next;
    if (store.state.sort === "plan") askForRows();
    else rows.redraw();
  });
  policies.follow((next) => {
    const isOther = { fate: next.fate !== policy.fate, columns: next.columns !== policy.columns };
    policy = next;
    const { sort, fate } = store.state;
    const isByFate = sort === "fate" || fate >= 0;
    const isByColumn = sort === "msps" || sort === "freed";
    if ((isOther.fate && isByFate) || (isOther.columns && isByColumn)) askForRows();
    else rows.redraw();
  });
  store.follow((state, changed) => {
    filters.show(state);
    for (const { column, element } of headers)
      element.setAttribute(
        "aria-sort",
        state.sort !== column.key ? "none" : state.order === "up" ? "ascending" : "descending",
      );
    if (
      ["module", "filter", "marks", "phase", "fate", "sort", "order"].some((key) =>
        changed.has(key as keyof typeof state),
      )
    )
      askForRows();
    else if (changed.has("op")) reveal();
  });
  return section(
    "ops",
    "Ops",
    h(
      "div",
      { class: "toolbar" },
      filters.element,
      exportButtons(`${overview.meta.title}-ops`, undefined, () =>
        exportOpsCsv({ overview, policy, plan: fates }, answer.rows),
      ),
    ),
    status,
    rows.element,
    h(
      "p",
      { class: "note" },
      "Memory: size of the new results of an op. MSPS: memory freed per second of recomputation. " +
        "Freed and recomputed: shares of memory and of the forward pass up to this op in greedy order. Policy: " +
        "what the budget above does with it. Plan: whether the shown plan keeps its results, frees them early, " +
        "offloads or recomputes them.",
    ),
  );
}

function lowerBound(sorted: Int32Array, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low < sorted.length ? low : -1;
}
