import { type HeldStorage, heldPeak, memoryTimeline, peakMoment } from "@remat/memory";
import type { CategoryName, Trace } from "@remat/trace";
import { type Colour, categoryColours, categoryStack, labelCategory } from "./category-colours.js";
import { describeMaker, describeShape } from "./describe-held.js";
import { categoryBands } from "./memory-bands.js";
import { sampleBands } from "./sample-bands.js";

/** Memory of one step, reduced to few enough columns to draw. */
export interface StepView {
  readonly peakBytes: number;
  /** For each category that occurs: bytes by column. */
  readonly bands: ReadonlyMap<CategoryName, Float64Array>;
  /** Highest memory in each column. */
  readonly highestBytes: Float64Array;
  /** The op at the peak. */
  readonly peakOp: string;
  /** The user's source line of that op, if recorded. */
  readonly peakLine: string | undefined;
  /** Categories at the peak, the largest first. */
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

/** Equal storages at the peak: the same allocation site, shape and category. */
export interface LargestRow {
  /** Number of storages. */
  readonly count: number;
  /** Bytes of all of them together. */
  readonly bytes: number;
  readonly label: string;
  readonly shape: string;
  readonly maker: string;
  /** The user's source line that allocated them, if recorded. */
  readonly line: string | undefined;
}

/** Enough columns to show the shape of a step. */
const columns = 60;
/** Number of rows with the largest storages, and of the storages that are searched for them. */
const largestShown = 4;
const largestRead = 1000;

/**
 * Summarizes the memory of a step from its trace. Returns undefined if no op ran.
 *
 * @example
 * const peak = viewStep(trace)?.peakBytes;
 */
export function viewStep(trace: Trace): StepView | undefined {
  if (trace.ops.count === 0) return undefined;
  const all = categoryBands(memoryTimeline(trace));
  const sampled = sampleBands(all, { buckets: columns });
  const bands = new Map(all.bands.map(({ key }, i) => [key as CategoryName, sampled.bands[i]] as const));
  const moment = peakMoment(trace, { limit: largestRead });
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
    peakLine: moment.at && trace.opLine(moment.at.op),
    largest: largestRows(trace, moment.largest),
  };
}

function largestRows(trace: Trace, storages: readonly HeldStorage[]): readonly LargestRow[] {
  const rows = new Map<string, LargestRow>();
  for (const storage of storages) {
    const row = {
      label: labelCategory(storage.category),
      shape: describeShape(storage),
      maker: describeMaker(storage) ?? "",
      line: storage.maker && trace.opLine(storage.maker.op),
    };
    const key = JSON.stringify(row);
    const known = rows.get(key) ?? { ...row, count: 0, bytes: 0 };
    rows.set(key, { ...known, count: known.count + 1, bytes: known.bytes + storage.bytes });
  }
  return [...rows.values()].sort((a, b) => b.bytes - a.bytes).slice(0, largestShown);
}
