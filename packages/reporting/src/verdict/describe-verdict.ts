import { labelCategory } from "../category-colours.js";
import { formatOverhead, formatPercent, formatWholePercent } from "../format-quantity.js";
import type { SizeFormat } from "../size-unit.js";
import type { FittingBatch, GivenStep, LeastHeld, Verdict } from "./verdict.js";
import { describeWay } from "./way-to-fit.js";

/** Categories beyond this number appear only in the table below. */
const categoriesTold = 2;

/** A verdict's figures, before they are put into words. */
export type VerdictFigures = Omit<Verdict, "facts" | "sentence">;

/**
 * Puts a verdict into words, one fact each: peak memory, whether it fits, its main categories, a better alternative,
 * the command to run.
 */
export function describeVerdict(verdict: VerdictFigures, size: SizeFormat): readonly string[] {
  const { recomputedOps, given, outcome, largestBatch, command } = verdict;
  return [
    describePeak(verdict, size),
    ...describeCategories(verdict),
    ...(recomputedOps === 0 ? [] : [`${recomputedOps} ops recompute what is checkpointed by hand`]),
    ...(given === undefined ? [] : [describeGiven(given, verdict.peakBytes, size)]),
    ...(outcome === undefined ? describeRemedies(verdict, size) : [describeOutcome(verdict, size)]),
    ...(largestBatch === undefined ? [] : [describeLargest(largestBatch, size), ...describeReleased(verdict)]),
    ...(command === undefined ? [] : [command]),
  ];
}

/**
 * Describes the largest categories of the peak, as one fact or none. Callers that show the categories themselves leave
 * it out.
 */
export function describeCategories({ categories }: Pick<Verdict, "categories">): readonly string[] {
  const told = categories.filter(({ share }) => share >= 0.005).slice(0, categoriesTold);
  if (told.length === 0) return [];
  return [
    told
      .map(({ category, share }) => `${labelCategory(category).toLowerCase()} ${formatWholePercent(share)}`)
      .join(", "),
  ];
}

/** Prevents early release from being suggested as a remedy if it would not lower the predicted peak. */
function describeReleased({ peakBytes, earlyReleasePeakBytes }: VerdictFigures): readonly string[] {
  return earlyReleasePeakBytes === peakBytes ? ["early release holds as much"] : [];
}

function describeLargest(largest: FittingBatch | null, size: SizeFormat): string {
  if (largest === null) return "not even one sample fits";
  const { batch, peakBytes, isSearchLimit } = largest;
  const samples = batch.toLocaleString("en");
  return `largest batch that fits ${isSearchLimit ? `at least ${samples} (search limit)` : samples}: ${size(peakBytes)}`;
}

/** For a truncated trace it is unknown what comes after its end. */
function describePeak(
  { peakBytes, device, deviceMemoryBytes, fits, spareBytes = 0, truncated }: VerdictFigures,
  size: SizeFormat,
): string {
  const peak = `${truncated === undefined ? "peak" : `damaged after line ${truncated.line}: peak at least`} ${size(peakBytes)}`;
  if (deviceMemoryBytes === undefined) return `${peak}; how much memory ${device} has is not known`;
  const ofDevice = `${peak} of ${size(deviceMemoryBytes)} (${device})`;
  if (fits === undefined) return ofDevice;
  return fits
    ? `${ofDevice}: fits, ${size(spareBytes)} to spare`
    : `${ofDevice}: does not fit, ${size(-spareBytes)} too much`;
}

/** The step with manual checkpointing, as the baseline for a plan. */
function describeGiven({ peakBytes, recomputedOps }: GivenStep, without: number, size: SizeFormat): string {
  return `as checkpointed by hand ${size(peakBytes)} (${formatPercent(peakBytes / Math.max(1, without))}), recomputing ${recomputedOps} ops`;
}

function describeOutcome({ outcome, peakBytes, deviceMemoryBytes, fits }: VerdictFigures, size: SizeFormat): string {
  const { name, peakBytes: after, overhead } = outcome!;
  const share = peakBytes > 0 && after !== peakBytes ? ` (${formatPercent(after / peakBytes)})` : "";
  const time =
    overhead === undefined ? "" : overhead === 0 ? " at no cost" : ` for ${formatOverhead(overhead)} more time`;
  const verdict =
    fits !== false || deviceMemoryBytes === undefined
      ? ""
      : after <= deviceMemoryBytes
        ? ", fits"
        : ", does not fit either";
  return `${name} ${size(after)}${share}${time}${verdict}`;
}

function describeRemedies(verdict: VerdictFigures, size: SizeFormat): readonly string[] {
  const { fits, free, ways, least, truncated } = verdict;
  if (truncated !== undefined) return [];
  if (fits !== false) return free === undefined ? [] : [describeWay(free, size)];
  if (ways === undefined) return [];
  return ways.length === 0
    ? [`nothing tried makes it fit${least === undefined ? "" : `: ${describeLeast(least, size)}`}`]
    : [`fits with ${ways.map((way) => describeWay(way, size)).join(", or ")}`];
}

/** Describes the memory that no plan can avoid. */
export function describeLeast({ bytes, ranks }: LeastHeld, size: SizeFormat): string {
  const each = ranks === undefined ? "" : `, or ${size(ranks.bytes)} on each of ${ranks.worldSize} ranks`;
  return `no plan holds less than ${size(bytes)}${each}`;
}
