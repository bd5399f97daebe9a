import { heldPeak, memoryTimeline, peakMoment } from "@remat/memory";
import {
  type Colour,
  categoryBands,
  categoryColours,
  categoryStack,
  describeMaker,
  describeShape,
  labelCategory,
  sampleBands,
} from "@remat/reporting";
import type { CategoryName, Trace } from "@remat/trace";

/** What one step held, in few enough columns to be drawn. */
export interface StepView {
  readonly peakBytes: number;
  /** By category that occurs: bytes by column. */
  readonly bands: ReadonlyMap<CategoryName, Float64Array>;
  /** The most that was held in each column. */
  readonly highestBytes: Float64Array;
  /** The op at which most was held. */
  readonly peakOp: string;
  /** What the peak is made of, most first. */
  readonly categories: readonly CategoryRow[];
  readonly largest: readonly LargestRow[];
}

/** A category at the peak. */
export interface CategoryRow {
  readonly category: CategoryName;
  readonly label: string;
  readonly colour: Colour;
  readonly bytes: number;
}

/** One of the largest storages at the peak. */
export interface LargestRow {
  readonly bytes: number;
  readonly label: string;
  readonly shape: string;
  readonly maker: string;
}

/** So many columns tell the shape of a step. */
const columns = 60;
const largestShown = 4;

/** Returns what a step held, from its trace; undefined for one in which no op ran. */
export function viewStep(trace: Trace): StepView | undefined {
  if (trace.ops.count === 0) return undefined;
  const all = categoryBands(memoryTimeline(trace));
  const sampled = sampleBands(all, { buckets: columns });
  const bands = new Map(all.bands.map(({ key }, i) => [key as CategoryName, sampled.bands[i]] as const));
  const moment = peakMoment(trace, { limit: largestShown });
  const categories = categoryStack.flatMap((category): CategoryRow[] => {
    const bytes = moment.bytesByCategory[category] ?? 0;
    return bytes === 0 ? [] : [{ category, label: labelCategory(category), colour: categoryColours[category], bytes }];
  });
  return {
    peakBytes: heldPeak(trace).peakBytes,
    bands,
    highestBytes: sampled.highestBytes,
    peakOp: moment.at?.opName ?? "before the first op",
    categories: categories.sort((a, b) => b.bytes - a.bytes),
    largest: moment.largest.map((storage) => ({
      bytes: storage.bytes,
      label: labelCategory(storage.category),
      shape: describeShape(storage),
      maker: describeMaker(storage) ?? "",
    })),
  };
}
