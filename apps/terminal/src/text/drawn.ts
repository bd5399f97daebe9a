import type { Line } from "./line.js";

/** The target of a click. */
export type ClickTarget =
  | { readonly kind: "row"; readonly index: number }
  | { readonly kind: "header"; readonly column: string }
  | { readonly kind: "view"; readonly number: number }
  /** A place in a picture, as a share of its width. */
  | { readonly kind: "plot"; readonly share: number };

/** A clickable part of the screen, in cells relative to the top left of its container. */
export interface Region {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** For a plot, the share is filled in at the click. */
  readonly target: ClickTarget;
}

/** A drawn view: its lines from the top, and their clickable regions. */
export interface Drawn {
  readonly lines: readonly Line[];
  readonly regions: readonly Region[];
}

/** Stacks parts vertically. */
export function stack(...parts: readonly Drawn[]): Drawn {
  const lines: Line[] = [];
  const regions: Region[] = [];
  for (const part of parts) {
    for (const region of part.regions) regions.push({ ...region, y: region.y + lines.length });
    lines.push(...part.lines);
  }
  return { lines, regions };
}

/** Creates lines without clickable regions. */
export function textOnly(...lines: readonly Line[]): Drawn {
  return { lines, regions: [] };
}

/** Returns the target at a cell. The last region drawn there wins. */
export function targetAt(regions: readonly Region[], x: number, y: number): ClickTarget | undefined {
  for (let i = regions.length - 1; i >= 0; i--) {
    const { x: left, y: top, width, height, target } = regions[i];
    if (x < left || x >= left + width || y < top || y >= top + height) continue;
    return target.kind === "plot" ? { kind: "plot", share: width <= 1 ? 0 : (x - left) / (width - 1) } : target;
  }
  return undefined;
}
