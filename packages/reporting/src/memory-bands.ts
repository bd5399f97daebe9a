import { type MemoryTimeline, moduleBytes } from "@remat/memory";
import type { Trace } from "@remat/trace";
import { type Colour, categoryColours, categoryLabels, categoryStack, seriesColours } from "./category-colours.js";

/** One band of a stack: bytes after each op. */
export interface MemoryBand {
  /** Category, or fully qualified name of a module, or empty for the rest. */
  readonly key: string;
  readonly label: string;
  readonly colour: Colour;
  /** Bytes in use after each op. */
  readonly bytes: Float64Array;
}

/**
 * Memory over the ops of a trace as bands that add up to the total, lowest first. All columns have one entry per op.
 */
export interface MemoryBands {
  /** The meaning of a band: a category or a module. */
  readonly by: "category" | "module";
  /** The module whose parts are shown, with `by: "module"`. */
  readonly within?: string;
  /** Number of ops. */
  readonly count: number;
  readonly bands: readonly MemoryBand[];
  /** Sum of all bands after each op. */
  readonly totalBytes: Float64Array;
  /** Highest memory since the previous op. It includes scratch memory of ops, which is in no band. */
  readonly highestBytes: Float64Array;
}

/**
 * Returns a timeline as bands by category, in the order of `categoryStack`.
 *
 * @example
 * const bands = categoryBands(memoryTimeline(trace));
 */
export function categoryBands(
  timeline: Pick<MemoryTimeline, "count" | "totalBytes" | "highestBytes" | "bytesByCategory">,
): MemoryBands {
  const { count, totalBytes, highestBytes, bytesByCategory } = timeline;
  const bands = categoryStack.flatMap((category): MemoryBand[] => {
    const bytes = bytesByCategory.get(category);
    return bytes === undefined
      ? []
      : [{ key: category, label: categoryLabels[category], colour: categoryColours[category], bytes }];
  });
  return { by: "category", count, bands, totalBytes, highestBytes };
}

/** Options of {@link moduleBands}. */
export interface ModuleBandsOptions {
  /** The module whose parts are shown. Default: the outermost module that has several parts. */
  readonly within?: string | undefined;
  /** How many parts get a band of their own (8 by default). The others share one. */
  readonly limit?: number;
}

/**
 * Returns a timeline as bands by allocating module. The bands are the parts of one module, beginning with the part that
 * has the most memory at the peak. Weights count for the innermost module that owns them.
 *
 * @example
 * const bands = moduleBands(trace, memoryTimeline(trace), { within: "net.layers" });
 */
export function moduleBands(trace: Trace, timeline: MemoryTimeline, options: ModuleBandsOptions = {}): MemoryBands {
  const { count, totalBytes, highestBytes, device } = timeline;
  const { within, parts, rest } = moduleBytes(trace, {
    device,
    limit: options.limit ?? 8,
    ...(options.within !== undefined && { within: options.within }),
  });
  const bands: MemoryBand[] = parts.map(({ fqn, bytes }, i) => ({
    key: fqn,
    label: fqn === within ? `${fqn} itself` : fqn.slice(within === "" ? 0 : within.length + 1),
    colour: seriesColours[i % seriesColours.length],
    bytes,
  }));
  bands.unshift({ key: "", label: "All other", colour: categoryColours.other, bytes: rest });
  return { by: "module", within, count, bands, totalBytes, highestBytes };
}
