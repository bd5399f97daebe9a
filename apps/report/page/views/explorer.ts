import { formatBytes, formatPercent, type ModuleTreeView, moduleTreeTable, writeViewTable } from "@remat/reporting";
import { timeFormatOf } from "../../src/data/time-format-of.js";
import { fill, h, s } from "../dom.js";
import { download, standaloneSvg } from "../interaction/download.js";
import { hideTooltip, showTooltip } from "../interaction/tooltip.js";
import type { PageContext } from "../page-context.js";
import { onThemeChange, token } from "../theme.js";
import { coloursByBranch, fit, neighbour, parentOf } from "./explorer-cells.js";
import { type ExplorerCell, explorerCells, valueOf } from "./explorer-layout.js";
import { choice, exportButtons, section } from "./figure.js";

const rowHeight = 30;
const rows = 6;

/** Mounts the modules as an icicle chart: each as wide as its share of memory or time, with its submodules below. */
export function mountExplorer({ engine, overview, store }: PageContext): HTMLElement {
  const formatTime = timeFormatOf(overview.meta);
  const box = h("div", { class: "chart-box" }, h("p", { class: "note" }, "Working out the modules …"));
  const crumbs = h("nav", { class: "crumbs", "aria-label": "Modules around the one shown" });
  const area = choice(
    "Width",
    "explorer-area",
    [
      ["memory", "memory"],
      ["time", "time"],
    ],
    (value) => store.update({ area: value }),
  );
  let tree: ModuleTreeView | undefined;
  let width = 0;
  let focused: string | undefined;

  const element = section(
    "modules",
    "Modules",
    h(
      "div",
      { class: "toolbar" },
      area.element,
      exportButtons(
        `${overview.meta.title}-modules`,
        () => {
          const svg = box.querySelector("svg");
          return svg === null ? "" : standaloneSvg(svg, token("--paper"));
        },
        () => {
          if (tree !== undefined)
            download(`${overview.meta.title}-modules.csv`, [writeViewTable(moduleTreeTable(tree), "csv")], "text/csv");
        },
      ),
    ),
    crumbs,
    box,
    h(
      "p",
      { class: "note" },
      "Enter or a click selects a module in all charts. A second one, or a double click, zooms into it. " +
        "Arrow keys move. Memory is the size of its ops' results in the forward pass, time is forward and backward.",
    ),
  );

  /** Begins with the visible text of the cell, so that voice control can find it. */
  const label = ({ node }: ExplorerCell, seen: readonly string[]): string =>
    `${seen.map((text) => `${text} `).join("")}– ${node.fqn}, ${node.kind}, ${formatBytes(node.memoryBytes)}, ` +
    `${formatTime(node.forwardMs + node.backwardMs)}, ${node.opCount} ops`;
  const choose = (fqn: string): void => {
    if (store.state.module === fqn) store.update({ root: fqn });
    else store.update({ module: fqn });
  };
  const draw = (): void => {
    if (tree === undefined || width === 0) return;
    const { root, area: kind, module } = store.state;
    const cells = explorerCells(tree, root, kind, rows).filter(({ from, to }) => (to - from) * width >= 1.5);
    const depth = Math.max(1, ...cells.map(({ row }) => row + 1));
    const shown = new Map(cells.map((cell) => [cell.node.fqn, cell]));
    const active =
      focused !== undefined && shown.has(focused) ? focused : shown.has(module) ? module : cells[0]?.node.fqn;
    const colourOf = coloursByBranch(cells);
    const hadFocus = box.contains(document.activeElement);
    const svg = s(
      "svg",
      {
        class: "icicle",
        width,
        height: depth * rowHeight + 1,
        viewBox: `0 0 ${width} ${depth * rowHeight + 1}`,
        role: "tree",
        "aria-label": `Modules by ${kind}`,
      },
      ...cells.map((cell) => cellOf(cell)),
    );
    function cellOf(cell: ExplorerCell): SVGElement {
      const { node, from, to, row } = cell;
      const [x, w] = [from * width, (to - from) * width];
      const text = fit(row === 0 && root !== "" ? node.fqn : node.name, w - 10);
      const size =
        text !== "" && w > 150
          ? kind === "memory"
            ? formatBytes(node.memoryBytes)
            : formatTime(valueOf(node, kind))
          : "";
      const showSize = text.length * 7 + size.length * 7 + 24 < w;
      return s(
        "g",
        {
          role: "treeitem",
          tabindex: node.fqn === active ? 0 : -1,
          "aria-label": label(
            cell,
            [text, showSize ? size : ""].filter((each) => each !== ""),
          ),
          "aria-level": row + 1,
          "aria-selected": node.fqn === module ? "true" : "false",
          class: `cell${node.fqn === module ? " selected" : ""}`,
          onclick: () => choose(node.fqn),
          ondblclick: () => store.update({ module: node.fqn, root: node.fqn }),
          onkeydown: (event: KeyboardEvent) => onKey(event, cell, cells),
          onfocus: () => (focused = node.fqn),
          onpointermove: (event: PointerEvent) =>
            showTooltip(
              event.clientX,
              event.clientY,
              h("strong", {}, node.fqn),
              h(
                "span",
                {},
                `${node.kind}, ${node.calls} call${node.calls === 1 ? "" : "s"}, ${node.opCount} op${node.opCount === 1 ? "" : "s"}`,
              ),
              h(
                "span",
                {},
                `${formatBytes(node.memoryBytes)} of results, ${formatBytes(node.savedBytes)} saved by autograd`,
              ),
              h("span", {}, `forward ${formatTime(node.forwardMs)}, backward ${formatTime(node.backwardMs)}`),
              h("span", {}, `${formatPercent(to - from)} of the width`),
            ),
          onpointerleave: hideTooltip,
        },
        s("rect", {
          x: x + 0.5,
          y: row * rowHeight + 0.5,
          width: Math.max(1, w - 1),
          height: rowHeight - 1,
          fill: colourOf(node.fqn),
          "fill-opacity": 0.24,
        }),
        w > 12 &&
          s("rect", {
            class: "edge",
            x: x + 0.5,
            y: row * rowHeight + 0.5,
            width: 3,
            height: rowHeight - 1,
            fill: colourOf(node.fqn),
          }),
        text !== "" && s("text", { x: x + 8, y: row * rowHeight + 20 }, text),
        " ",
        showSize && s("text", { class: "faint", x: x + w - 6, y: row * rowHeight + 20, "text-anchor": "end" }, size),
      );
    }
    fill(box, svg);
    if (hadFocus) (svg.querySelector('[tabindex="0"]') as SVGElement | null)?.focus();
    fill(crumbs, ...breadcrumbs(root));
  };
  const onKey = (event: KeyboardEvent, cell: ExplorerCell, cells: readonly ExplorerCell[]): void => {
    const { key } = event;
    if (key === "Enter" || key === " ") choose(cell.node.fqn);
    else if (key === "Escape" || key === "Backspace") store.update({ root: parentOf(store.state.root) });
    else {
      const next = neighbour(key, cell, cells);
      if (next === undefined) return;
      focused = next.node.fqn;
      for (const item of box.querySelectorAll('[role="treeitem"]')) item.setAttribute("tabindex", "-1");
      const target = box.querySelectorAll('[role="treeitem"]')[cells.indexOf(next)] as SVGElement;
      target.setAttribute("tabindex", "0");
      target.focus();
    }
    event.preventDefault();
  };
  const breadcrumbs = (root: string): (Node | string)[] => {
    const parts: (Node | string)[] = [
      h(
        "button",
        { type: "button", "aria-current": root === "" ? "true" : undefined, onclick: () => store.update({ root: "" }) },
        "All modules",
      ),
    ];
    for (let dot = root.indexOf("."); root !== ""; dot = root.indexOf(".", dot + 1)) {
      const fqn = dot < 0 ? root : root.slice(0, dot);
      parts.push(
        "›",
        h(
          "button",
          {
            type: "button",
            "aria-current": fqn === root ? "true" : undefined,
            onclick: () => store.update({ root: fqn }),
          },
          fqn.slice(fqn.lastIndexOf(".") + 1),
        ),
      );
      if (dot < 0) break;
    }
    return parts;
  };

  void engine.modules().then((answer) => {
    tree = answer.tree;
    element.hidden = tree.nodes.length === 0;
    draw();
  });
  new ResizeObserver(([entry]) => {
    width = Math.floor(entry.contentRect.width);
    draw();
  }).observe(box);
  onThemeChange(draw);
  store.follow((state, changed) => {
    area.show(state.area);
    if (changed.has("area") || changed.has("root") || changed.has("module")) draw();
  });
  return element;
}
