import { type HeldStorage, heldPeak, memoryTimeline, peakMoment } from "@remat/memory";
import type { CategoryName, Trace } from "@remat/trace";
import { type Colour, categoryColours, categoryStack, labelCategory } from "./category-colours.js";
import { describeMaker, describeShape } from "./describe-held.js";
import { categoryBands } from "./memory-bands.js";
import { sampleBands } from "./sample-bands.js";

/** What one step held, in few enough columns to be drawn. */
export interface StepView {
  readonly peakBytes: number;
  /** By category that occurs: bytes by column. */
  readonly bands: ReadonlyMap<CategoryName, Float64Array>;
  /** The most that was held in each column. */
  readonly highestBytes: Float64Array;
  /** The op at which most was held. */
  readonly peakOp: string;
  /** The user's source line of that op, where it was recorded. */
  readonly peakLine: string | undefined;
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

/** Equal storages at the peak: of one maker, shape and category. */
export interface LargestRow {
  /** How many they are. */
  readonly count: number;
  /** Of all of them. */
  readonly bytes: number;
  readonly label: string;
  readonly shape: string;
  readonly maker: string;
  /** The user's source line that made them, where it was recorded. */
  readonly line: string | undefined;
}

/** So many columns tell the shape of a step. */
const columns = 60;
/** Rows of the largest, and how many storages are looked at for them. */
const largestShown = 4;
const largestRead = 1000;

/**
 * Returns what a step held, from its trace; undefined for one in which no op ran.
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
