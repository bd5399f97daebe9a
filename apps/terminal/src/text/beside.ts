import type { Drawn } from "./drawn.js";
import type { Glyphs } from "./glyphs.js";
import { fitLine, type Line } from "./line.js";

/** Puts two parts side by side. The left one becomes `width` columns wide. */
export function besideEachOther(
  left: Drawn,
  right: Drawn,
  { width, gap }: { readonly width: number; readonly gap: number },
  glyphs: Glyphs,
): Drawn {
  const lines: Line[] = Array.from({ length: Math.max(left.lines.length, right.lines.length) }, (_, row) => [
    ...fitLine(left.lines[row] ?? [], width, glyphs),
    { text: " ".repeat(gap) },
    ...(right.lines[row] ?? []),
  ]);
  return {
    lines,
    regions: [...left.regions, ...right.regions.map((region) => ({ ...region, x: region.x + width + gap }))],
  };
}
