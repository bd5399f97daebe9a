import { describeProof, formatBytes, formatMs, formatPercent, type TimeFormat } from "@remat/reporting";
import { type DeviceToFit } from "@remat/reporting/verdict";
import type { Plan } from "@remat/trace";
import { barText, type Glyphs } from "../text/glyphs.js";
import type { Line } from "../text/line.js";

/** Facts about a plan that it does not contain itself. */
export interface PlanGiven {
  /** The device that the step has to fit on. Left out: it is shown elsewhere. */
  readonly device?: DeviceToFit;
  /** Peak of the step without the plan. Left out: as stated in the plan. */
  readonly recordedBytes?: number | undefined;
  /** The command that applies it. */
  readonly following?: string | undefined;
  /** Formats the time of the step. */
  readonly formatTime?: TimeFormat;
}

/** Describes in a few lines what a plan predicts, whether it fits and the command to run first. */
export function planFacts(plan: Plan, width: number, glyphs: Glyphs, given: PlanGiven = {}): readonly Line[] {
  const { predicted, origin, subject, steps } = plan;
  const recomputed = steps.filter(({ isRecomputed }) => isRecomputed).length;
  const recorded = given.recordedBytes ?? predicted.recordedPeakBytes ?? predicted.plain.peakBytes;
  const cost = subject.kind === "trace" ? (given.formatTime ?? formatMs)(predicted.cost) : `cost ${predicted.cost}`;
  const bar = barText(recorded > 0 ? predicted.peakBytes / recorded : 0, Math.max(8, Math.min(40, width - 12)), glyphs);
  return [
    [{ text: `Plan of ${subject.name}`, style: "strong" }],
    fact("peak", `${formatBytes(predicted.peakBytes)} of ${formatBytes(recorded)} without the plan`),
    [{ text: " ".repeat(10) }, { text: bar, style: "bar" }],
    ...fitFact(predicted.peakBytes, given.device),
    ...(given.following === undefined ? [] : [fact("type", given.following)]),
    fact("budget", formatBytes(origin.budgetBytes)),
    fact("step", `${cost}, ${formatPercent(predicted.overhead)} overhead`),
    fact("work", `${recomputed} of ${steps.length} steps are recomputations`),
    fact("proof", describeProof(plan)),
    fact("method", `${origin.method}, ${origin.order} order`),
  ];
}

function fitFact(peakBytes: number, device: DeviceToFit | undefined): readonly Line[] {
  if (device?.memoryBytes === undefined) return [];
  const spare = device.memoryBytes - peakBytes;
  const of = `of ${formatBytes(device.memoryBytes)} (${device.name})`;
  const [label] = fact("fits", "");
  return [
    spare >= 0
      ? [label, { text: `yes, ${formatBytes(spare)} to spare ${of}`, style: "good" }]
      : [label, { text: `no, ${formatBytes(-spare)} too much ${of}`, style: "bad" }],
  ];
}

function fact(label: string, text: string): Line {
  return [{ text: `  ${label.padEnd(8)}`, style: "faint" }, { text }];
}
