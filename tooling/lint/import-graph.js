import { importTable, packageFolder } from "./import-table.js";

/**
 * Draws the imports between packages as a Mermaid graph, with code that runs in a browser separate from code that uses
 * the engine or Node. Arrows implied by others are left out.
 *
 * @param {ReadonlyMap<string, ReadonlySet<string>>} imports by node
 */
export function drawImportGraph(imports) {
  const direct = withoutImplied(imports);
  const order = [...imports.keys()];
  const isApp = (node) => packageFolder(node.split("/")[0]).startsWith("apps/");
  const lines = (nodes, indent) =>
    nodes.map((node) => {
      const to = order.filter((other) => direct.get(node).has(other)).map(idOf);
      return `${indent}${labelOf(node)}${to.length === 0 ? "" : ` --> ${to.join(" & ")}`}`;
    });
  const packages = order.filter((node) => !isApp(node));
  return [
    "graph LR",
    "  subgraph pure [run in a browser: no tfjs, no Node module]",
    ...lines(
      packages.filter((node) => importTable[node].pure),
      "    ",
    ),
    "  end",
    "  subgraph engine [see the tfjs engine, or Node]",
    ...lines(
      packages.filter((node) => !importTable[node].pure),
      "    ",
    ),
    "  end",
    ...lines(order.filter(isApp), "  "),
  ].join("\n");
}

/**
 * Leaves out imports implied by others: with a → b → c, it leaves out a → c.
 *
 * @param {ReadonlyMap<string, ReadonlySet<string>>} imports without cycles
 */
export function withoutImplied(imports) {
  /** @type {Map<string, Set<string>>} */
  const reached = new Map();
  const reach = (node) => {
    let all = reached.get(node);
    if (all === undefined) {
      all = new Set();
      for (const next of imports.get(node) ?? []) for (const one of [next, ...reach(next)]) all.add(one);
      reached.set(node, all);
    }
    return all;
  };
  return new Map(
    [...imports].map(([node, to]) => [
      node,
      new Set([...to].filter((one) => ![...to].some((other) => other !== one && reach(other).has(one)))),
    ]),
  );
}

function idOf(node) {
  return node.replaceAll("/", "-");
}

function labelOf(node) {
  return node.includes("/") ? `${idOf(node)}[${node}]` : node;
}

const start = "```mermaid\n";
const end = "\n```";

/** Replaces the first Mermaid graph of a Markdown text. */
export function replaceGraph(text, graph) {
  const from = text.indexOf(start) + start.length;
  return text.slice(0, from) + graph + text.slice(text.indexOf(end, from));
}
