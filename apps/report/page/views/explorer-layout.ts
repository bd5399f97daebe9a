import type { ModuleNode, ModuleTreeView } from "@remat/reporting";
import { type HierarchyRectangularNode, hierarchy, partition } from "d3-hierarchy";

/** A rectangle of the explorer. */
export interface ExplorerCell {
  readonly node: ModuleNode;
  /** Share of the width, from 0 to 1, and row from the top. */
  readonly from: number;
  readonly to: number;
  readonly row: number;
}

/** Returns the weight of a module in the explorer. */
export function valueOf({ memoryBytes, forwardMs, backwardMs }: ModuleNode, area: "memory" | "time"): number {
  return area === "memory" ? memoryBytes : forwardMs + backwardMs;
}

interface Datum {
  readonly node: ModuleNode | undefined;
  readonly children: readonly Datum[];
  readonly own: number;
}

/**
 * Computes the rectangles of a module and its submodules down to `rows` levels, each as wide as its share. The part of
 * a module outside of its submodules is left empty at their right.
 *
 * @param root fully qualified name, or empty for all
 */
export function explorerCells(
  tree: ModuleTreeView,
  root: string,
  area: "memory" | "time",
  rows: number,
): readonly ExplorerCell[] {
  const top = tree.nodes.find(({ fqn }) => fqn === root);
  const datumOf = (node: ModuleNode, level: number): Datum => {
    const children = level < rows ? node.children.map((child) => datumOf(tree.nodes[child], level + 1)) : [];
    const inside = node.children.reduce((sum, child) => sum + valueOf(tree.nodes[child], area), 0);
    const value = valueOf(node, area);
    return { node, children, own: children.length === 0 ? value : Math.max(0, value - inside) };
  };
  const whole: Datum =
    top !== undefined
      ? datumOf(top, 1)
      : { node: undefined, children: tree.roots.map((each) => datumOf(tree.nodes[each], 1)), own: 0 };
  const laid = partition<Datum>()(hierarchy(whole).sum(({ own }) => own));
  const skip = top === undefined ? 1 : 0;
  return laid
    .descendants()
    .flatMap((each: HierarchyRectangularNode<Datum>) =>
      each.data.node === undefined || !(each.x1 > each.x0)
        ? []
        : [{ node: each.data.node, from: each.x0, to: each.x1, row: each.depth - skip }],
    );
}
