import { categoryLabels } from "../category-colours.js";
import { formatOverhead } from "../documents/plan-front.js";
import { formatBytes, formatPercent } from "../format-quantity.js";
import type { Verdict } from "./verdict.js";
import { describeWay } from "./way-to-fit.js";

/** Parts two facts of a verdict. */
export const verdictSeparator = " · ";

/** More categories than these are for the table below. */
const categoriesTold = 2;

/** What a verdict is before it is put into words. */
export type VerdictFigures = Omit<Verdict, "facts" | "sentence">;

/** Returns a verdict in words, a fact each: what is held, whether it fits, what it is, what would be better, what to type. */
export function describeVerdict(verdict: VerdictFigures): readonly string[] {
  const { categories, outcome, command } = verdict;
  const told = categories.filter(({ share }) => share >= 0.005).slice(0, categoriesTold);
  return [
    describePeak(verdict),
    ...(told.length === 0
      ? []
      : [
          told
            .map(({ category, share }) => `${categoryLabels[category].toLowerCase()} ${Math.round(100 * share)} %`)
            .join(", "),
        ]),
    ...(outcome === undefined ? describeRemedies(verdict) : [describeOutcome(verdict)]),
    ...(command === undefined ? [] : [command]),
  ];
}

function describePeak({ peakBytes, device, deviceMemoryBytes, spareBytes = 0 }: VerdictFigures): string {
  const peak = `peak ${formatBytes(peakBytes)}`;
  if (deviceMemoryBytes === undefined) return `${peak}; how much memory ${device} has is not known`;
  const ofDevice = `${peak} of ${formatBytes(deviceMemoryBytes)} (${device})`;
  return spareBytes >= 0
    ? `${ofDevice}: fits, ${formatBytes(spareBytes)} to spare`
    : `${ofDevice}: does not fit, ${formatBytes(-spareBytes)} too much`;
}

function describeOutcome({ outcome, peakBytes, deviceMemoryBytes, fits }: VerdictFigures): string {
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
  return `${name} ${formatBytes(after)}${share}${time}${verdict}`;
}

function describeRemedies({ fits, ways, earlyReleasePeakBytes }: VerdictFigures): readonly string[] {
  if (fits !== false)
    return earlyReleasePeakBytes === undefined
      ? []
      : [describeWay({ kind: "early-release", peakBytes: earlyReleasePeakBytes })];
  if (ways === undefined) return [];
  return ways.length === 0 ? ["nothing tried makes it fit"] : [`fits with ${ways.map(describeWay).join(", or ")}`];
}
