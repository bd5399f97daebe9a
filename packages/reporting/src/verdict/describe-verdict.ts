import { formatNumber } from "@remat/trace/text";
import { labelCategory } from "../category-colours.js";
import { formatOverhead, formatPercent, formatWholePercent } from "../format-quantity.js";
import { formatPartOf, type SizeFormat } from "../size-unit.js";
import { upperFirst } from "../upper-first.js";
import { labelDevice, labelDeviceToFit } from "./label-device.js";
import type { FittingBatch, GivenStep, LeastHeld, Verdict } from "./verdict.js";
import { describeWay } from "./way-to-fit.js";

/** Categories beyond this number appear only in the table below. */
const categoriesTold = 2;

/** A verdict's figures, before they are put into words. */
export type VerdictFigures = Omit<Verdict, "headline" | "facts" | "sentence">;

/**
 * Puts a verdict into words, in one sentence for each fact: peak memory, whether it fits, its main categories, a better
 * alternative, and the command to run.
 */
export function describeVerdict(verdict: VerdictFigures, size: SizeFormat): readonly string[] {
  const { recomputedOps, given, outcome, largestBatch, command } = verdict;
  const facts = [
    `${describePeak(verdict, size, true)}.`,
    ...describeCategories(verdict),
    ...(recomputedOps === 0
      ? []
      : [`The model's manual activation checkpointing recomputes ${recomputedOps} ${plural(recomputedOps)}.`]),
    ...(given === undefined ? [] : [describeGiven(given, verdict.peakBytes, size)]),
    ...(outcome === undefined ? describeRemedies(verdict, size) : [describeOutcome(verdict, size)]),
    ...(largestBatch === undefined ? [] : [describeLargest(largestBatch, size), ...describeReleased(verdict)]),
  ];
  if (command === undefined) return facts;
  if (facts.at(-1)!.endsWith(":")) return [...facts, command];
  return [...facts, outcome === undefined ? "To trade time for memory:" : "Next:", command];
}

/** Returns whether a step fits in a few words, for places that have room for one line only. @example "Fits: peak memory is 4.61 of 80 GiB (A100)" */
export function headlineOf(verdict: VerdictFigures, size: SizeFormat): string {
  return describePeak(verdict, size, false);
}

/**
 * Returns the main categories of the peak, as one sentence or none. A view that shows the categories leaves the
 * sentence out.
 */
export function describeCategories({ categories }: Pick<Verdict, "categories">): readonly string[] {
  const told = categories.filter(({ share }) => share >= 0.005).slice(0, categoriesTold);
  if (told.length === 0) return [];
  const names = told.map(
    ({ category, share }) => `${labelCategory(category).toLowerCase()} (${formatWholePercent(share)})`,
  );
  return [`Mostly ${names.join(" and ")}.`];
}

/** Prevents early release from being suggested as a remedy if it would not lower the predicted peak. */
function describeReleased({ peakBytes, earlyReleasePeakBytes }: VerdictFigures): readonly string[] {
  return earlyReleasePeakBytes === peakBytes ? ["Early release does not lower the peak."] : [];
}

function describeLargest(largest: FittingBatch | null, size: SizeFormat): string {
  if (largest === null) return "Not even one sample fits.";
  const { batch, peakBytes, isSearchLimit } = largest;
  const samples = formatNumber(batch);
  return `The largest batch that fits is ${isSearchLimit ? `at least ${samples} (search limit)` : samples}: ${size(peakBytes)}.`;
}

/** Describes the peak. For a truncated trace, memory after its end is unknown. */
function describePeak(
  { peakBytes, device, deviceMemoryBytes, isDefaultDevice, fits, spareBytes = 0, truncated }: VerdictFigures,
  size: SizeFormat,
  isLong: boolean,
): string {
  const end = truncated === undefined ? "" : `damaged after line ${truncated.line}, `;
  const says = `${end}peak memory is ${truncated === undefined ? "" : "at least "}`;
  if (deviceMemoryBytes === undefined)
    return upperFirst(`${says}${size(peakBytes)} (memory of ${labelDevice(device)} unknown)`);
  const named = labelDeviceToFit({ name: device, ...(isDefaultDevice && { isDefault: true }) }, isLong);
  const ofDevice = `${says}${formatPartOf(peakBytes, deviceMemoryBytes, size)} (${named})`;
  if (fits === undefined) return upperFirst(ofDevice);
  return fits ? `Fits: ${ofDevice}` : `Does not fit: ${ofDevice}, ${size(-spareBytes)} too much`;
}

/** Describes the step with manual checkpointing, as the baseline for a plan. */
function describeGiven({ peakBytes, recomputedOps }: GivenStep, without: number, size: SizeFormat): string {
  return `With the model's manual activation checkpointing: ${size(peakBytes)} (${formatPercent(peakBytes / Math.max(1, without))}), recomputing ${recomputedOps} ${plural(recomputedOps)}.`;
}

function describeOutcome({ outcome, peakBytes, deviceMemoryBytes, fits }: VerdictFigures, size: SizeFormat): string {
  const { name, peakBytes: after, overhead } = outcome!;
  const share = peakBytes > 0 && after !== peakBytes ? ` (${formatPercent(after / peakBytes)})` : "";
  const time =
    overhead === undefined ? "" : overhead === 0 ? ", no slowdown" : `, ${formatOverhead(overhead)} more time`;
  const verdict =
    fits !== false || deviceMemoryBytes === undefined
      ? ""
      : after <= deviceMemoryBytes
        ? " This fits."
        : " This does not fit either.";
  return `${upperFirst(name)}: ${size(after)}${share}${time}.${verdict}`;
}

function describeRemedies(verdict: VerdictFigures, size: SizeFormat): readonly string[] {
  const { fits, free, ways, least, truncated, command } = verdict;
  if (truncated !== undefined) return [];
  const end = command === undefined ? "." : ":";
  if (fits !== false) {
    if (free === undefined) return [];
    const how = free.kind === "early-release" ? ", using early release" : "";
    return [`${size(free.peakBytes)} is enough with no slowdown${how}${end}`];
  }
  if (ways === undefined) return [];
  if (ways.length === 0)
    return [`Nothing remat tried makes it fit.${least === undefined ? "" : ` ${describeLeast(least, size)}`}`];
  const told = ways.map((way) => describeWay(way, size));
  return [`It fits ${told.join(told.length < 3 ? " or " : ", or ")}${end}`];
}

/** Describes the memory that no plan can avoid. */
export function describeLeast({ bytes, ranks }: LeastHeld, size: SizeFormat): string {
  const each = ranks === undefined ? "" : `, or ${size(ranks.bytes)} on each of ${ranks.worldSize} ranks`;
  return `No plan needs less than ${size(bytes)}${each}.`;
}

const plural = (ops: number): string => (ops === 1 ? "op" : "ops");
