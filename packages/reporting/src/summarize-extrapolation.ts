import { heldPeak, type MemoryMoment, peakMoment } from "@remat/memory";
import {
  type CheckedRun,
  type Extrapolation,
  extrapolateRuns,
  heldByGrowth,
  largestSize,
  type SizedRun,
} from "@remat/memory/extrapolation";
import { type CategoryName, traceNotes } from "@remat/trace";

/** Peak memory of a step at one size. */
export interface SizeOutcome {
  readonly size: number;
  /**
   * `recorded`: measured; `predicted`: extrapolated from the runs; `longest`: the largest size that fits, predicted.
   */
  readonly origin: "recorded" | "predicted" | "longest";
  readonly peakBytes: number;
  readonly bytesByCategory: Readonly<Partial<Record<CategoryName, number>>>;
  /** The parts of the peak that are constant, grow linearly, and grow quadratically. */
  readonly byGrowth: readonly [constant: number, line: number, square: number];
  /**
   * True for `longest` if the search ended at its own limit, so that larger sizes may fit. Left out if the next size
   * does not fit.
   */
  readonly isSearchLimit?: true;
}

/** Options of {@link summarizeExtrapolation}. */
export interface SummarizeExtrapolationOptions {
  /** Sizes of the runs, if they cannot be read from tensors. */
  readonly sizes?: readonly number[] | undefined;
  /** Sizes to predict. Default: two, four and eight times the largest recorded size. */
  readonly at?: readonly number[] | undefined;
  /** Memory that the step has to fit in. */
  readonly memoryBytes?: number | undefined;
  /** How many of the largest storages to list, at the largest reported size (5 by default). */
  readonly limit?: number | undefined;
}

/** A step's memory at sizes at which it was not recorded. */
export interface ExtrapolationSummary {
  readonly model: string;
  readonly runs: readonly string[];
  readonly extrapolation: Extrapolation;
  /** Peak memory at each size, in the order of the sizes. */
  readonly outcomes: readonly SizeOutcome[];
  readonly memoryBytes: number | undefined;
  /** The largest size that fits. Undefined if none does, or if no memory limit was given. */
  readonly longest: SizeOutcome | undefined;
  readonly checked: readonly CheckedRun[];
  /** The peak of the last outcome, with its largest storages. */
  readonly moment: MemoryMoment;
  readonly notes: readonly string[];
}

/**
 * Predicts a step's memory at sizes at which it was not recorded, and the largest size that fits.
 *
 * @throws RematError as `extrapolateRuns` does
 * @example
 * summarizeExtrapolation(runs, { memoryBytes: 80 * 2 ** 30 }).longest?.size;
 */
export function summarizeExtrapolation(
  runs: readonly SizedRun[],
  { sizes, at, memoryBytes, limit = 5 }: SummarizeExtrapolationOptions = {},
): ExtrapolationSummary {
  const extrapolation = extrapolateRuns(runs, sizes);
  const { peakAt, traceAt, degrees, varying } = extrapolation;
  const largest = Math.max(...varying.sizes);
  const predicted = (size: number, origin: SizeOutcome["origin"]): SizeOutcome => {
    const trace = traceAt(size);
    const peak = peakAt(size);
    const { peakBytes, bytesByCategory } = peak;
    return { size, origin, peakBytes, bytesByCategory, byGrowth: heldByGrowth(trace, peak, degrees) };
  };
  const recorded = runs.map(({ trace }, i): SizeOutcome => {
    const peak = heldPeak(trace);
    const { peakBytes, bytesByCategory } = peak;
    return {
      size: varying.sizes[i],
      origin: "recorded",
      peakBytes,
      bytesByCategory,
      byGrowth: heldByGrowth(trace, peak, degrees),
    };
  });
  const found = memoryBytes === undefined ? undefined : largestSize(peakAt, memoryBytes, largest);
  const longest = found && {
    ...predicted(found.size, "longest"),
    ...(found.isSearchLimit && { isSearchLimit: true as const }),
  };
  const asked = at ?? [2, 4, 8].map((times) => times * largest);
  const taken = new Set([...varying.sizes, ...(longest === undefined ? [] : [longest.size])]);
  const outcomes = [
    ...recorded.filter(({ size }) => size !== longest?.size),
    ...(longest === undefined ? [] : [longest]),
    ...[...new Set(asked)].filter((size) => !taken.has(size)).map((size) => predicted(size, "predicted")),
  ].sort((a, b) => a.size - b.size);
  const told = longest ?? outcomes[outcomes.length - 1];
  return {
    model: runs[0].trace.header.model ?? "model",
    runs: runs.map(({ name }) => name),
    extrapolation,
    outcomes,
    memoryBytes,
    longest,
    checked: extrapolation.checked,
    moment: peakMoment(traceAt(told.size), { limit }),
    notes: [...new Set(runs.flatMap(({ trace }) => traceNotes(trace)))],
  };
}
