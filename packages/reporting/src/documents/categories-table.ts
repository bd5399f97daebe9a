import { labelCategory } from "../category-colours.js";
import { formatPercent } from "../format-quantity.js";
import type { TablePart } from "../formats/output-document.js";
import type { SizeFormat } from "../size-unit.js";

/** Memory in use at a moment. */
interface HeldByCategory {
  readonly bytesByCategory: Readonly<Partial<Record<string, number>>>;
  readonly peakBytes: number;
  readonly place: string;
}

/**
 * Memory in use at a moment by category, the largest first.
 *
 * @internal
 */
export function categoriesTable({ bytesByCategory, peakBytes, place }: HeldByCategory, size: SizeFormat): TablePart {
  const held = Object.entries(bytesByCategory).map(([category, bytes = 0]) => ({ category, bytes }));
  const share = (bytes: number): string => formatPercent(peakBytes === 0 ? 0 : bytes / peakBytes);
  return {
    kind: "table",
    title: place === "peak" ? "Peak memory by category" : "Memory by category",
    headers: ["Category", "Size", "Share"],
    rows: [
      ...held
        .sort((a, b) => b.bytes - a.bytes)
        .map(({ category, bytes }) => [labelCategory(category), size(bytes), share(bytes)]),
      ["Total", size(peakBytes), formatPercent(1)],
    ],
  };
}
