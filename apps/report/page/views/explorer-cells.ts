import { seriesColours } from "@remat/reporting";
import { shade, token } from "../theme.js";
import type { ExplorerCell } from "./explorer-layout.js";

/** The name of the surrounding module, or empty for an outermost one. */
export const parentOf = (fqn: string): string => fqn.slice(0, Math.max(0, fqn.lastIndexOf(".")));

/** Cuts a name to a width, at about 7 pixels per letter. */
export function fit(name: string, width: number): string {
  const room = Math.floor(width / 7);
  return room < 2 ? "" : name.length <= room ? name : `${name.slice(0, room - 1)}…`;
}

/** Returns the cell that an arrow key moves to. */
export function neighbour(
  key: string,
  { node, from, to, row }: ExplorerCell,
  cells: readonly ExplorerCell[],
): ExplorerCell | undefined {
  const inRow = cells.filter((each) => each.row === row);
  const at = inRow.findIndex((each) => each.node === node);
  if (key === "ArrowRight") return inRow[at + 1];
  if (key === "ArrowLeft") return inRow[at - 1];
  if (key === "ArrowDown")
    return cells.find((each) => each.row === row + 1 && each.from >= from - 1e-9 && each.to <= to + 1e-9);
  if (key === "ArrowUp")
    return cells.find((each) => each.row === row - 1 && each.from <= from + 1e-9 && each.to >= to - 1e-9);
  if (key === "Home") return cells[0];
  return undefined;
}

/** Chooses a colour for each branch, so that nested modules are recognisable as part of it. */
export function coloursByBranch(cells: readonly ExplorerCell[]): (fqn: string) => string {
  const branchRow =
    cells.filter(({ row }) => row === 1).length > 1 ? 1 : Math.min(2, Math.max(0, ...cells.map(({ row }) => row)));
  const branches = cells.filter(({ row }) => row === branchRow).map(({ node }) => node.fqn);
  const colours = new Map(branches.map((fqn, i) => [fqn, shade(seriesColours[i % seriesColours.length])]));
  return (fqn) => {
    for (let name = fqn; name !== ""; name = parentOf(name)) {
      const colour = colours.get(name);
      if (colour !== undefined) return colour;
    }
    return token("--quiet-strong");
  };
}
