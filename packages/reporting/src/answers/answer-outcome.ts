import type { PlanMemory } from "@remat/memory/sequence";
import type { CategoryName, Plan } from "@remat/trace";
import type { ShellCode } from "@remat/trace/emit";
import { labelCategory } from "../category-colours.js";
import { formatMs, formatOverhead, formatPercent, formatWholePercent } from "../format-quantity.js";
import { type SizeUnit, sizeFormat } from "../size-unit.js";
import type { DeviceToFit } from "../verdict/device-to-fit.js";
import { type Answer, asked, describeRoom } from "./answer-first.js";

/** What becomes of a step that something was done about. */
export interface StepOutcome {
  readonly question: string;
  readonly peakBytes: number;
  readonly bytesByCategory?: Readonly<Partial<Record<CategoryName, number>>> | undefined;
  /** Of the step as it is; left out: nobody says. */
  readonly beforeBytes?: number | undefined;
  /** Time beyond the step's, as a fraction of it; left out: nobody says. */
  readonly overhead?: number | undefined;
  readonly deviceMemoryBytes?: number | undefined;
  /** More sentences. */
  readonly reasons?: readonly string[];
}

/** Returns what a step then holds, how much less that is, whether it fits, and what it costs. */
export function answerOutcome(outcome: StepOutcome, units?: SizeUnit): Answer {
  const { question, peakBytes, beforeBytes, overhead, deviceMemoryBytes, bytesByCategory = {}, reasons = [] } = outcome;
  const size = sizeFormat(units);
  const change = beforeBytes === undefined || beforeBytes === 0 ? undefined : peakBytes / beforeBytes - 1;
  const fits = deviceMemoryBytes === undefined ? undefined : peakBytes <= deviceMemoryBytes;
  const told = Object.entries(bytesByCategory)
    .sort(([, a], [, b]) => b - a)
    .filter(([, bytes]) => bytes >= 0.1 * peakBytes)
    .map(([category, bytes]) => `${labelCategory(category).toLowerCase()} ${formatWholePercent(bytes / peakBytes)}`);
  return {
    about: "outcome",
    question,
    answer: `${size(peakBytes)} at the peak${change === undefined || change === 0 ? "" : `, ${formatPercent(Math.abs(change))} ${change < 0 ? "less" : "more"}`}`,
    reasons: [
      ...(overhead === undefined
        ? []
        : [overhead === 0 ? "It takes no more time." : `It takes ${formatOverhead(overhead)} more time.`]),
      ...(fits === undefined
        ? []
        : [
            fits
              ? `It fits, with ${size(deviceMemoryBytes! - peakBytes)} to spare.`
              : `It does not fit: ${size(peakBytes - deviceMemoryBytes!)} too much.`,
          ]),
      ...reasons,
      ...(told.length === 0 ? [] : [`At its peak: ${told.join(", ")}.`]),
    ],
    ...(fits !== undefined && { isGood: fits }),
  };
}

/** Of the step that something was done about. */
const questionsAsRecorded: Readonly<Partial<Record<Answer["about"], string>>> = {
  fit: "Does it fit as recorded?",
  holders: "What holds that peak?",
  free: "What of that is free to gain?",
};

/** Returns what becomes of a step first, with what to type, and then what is asked of the step as it is, which is then said. */
export function leadWith(outcomes: readonly Answer[], answers: readonly Answer[]): readonly Answer[] {
  if (outcomes.length === 0) return answers;
  return [
    ...outcomes,
    ...answers.filter(({ about }) => about === "next"),
    ...answers
      .filter(({ about }) => about !== "next")
      .map((answer) => ({ ...answer, question: questionsAsRecorded[answer.about] ?? answer.question })),
  ];
}

/** What is known of a plan besides what it says itself. */
export interface PlanOutcome {
  readonly name: string;
  readonly plan: Plan;
  /** What the step holds under it; left out: the trace is not at hand. */
  readonly memory?: PlanMemory;
  /** What the step holds as it is; left out: as the plan has it. */
  readonly beforeBytes?: number | undefined;
  /** Of its peak, what its steps do not list; left out: nobody has looked. */
  readonly unlistedBytes?: number | undefined;
  readonly deviceMemoryBytes?: number | undefined;
  /** The same, where nobody else says for which device that is. */
  readonly device?: DeviceToFit | undefined;
  /** Where the run is not the one that it was made for: in what they differ. */
  readonly mismatch?: string | undefined;
}

/** Returns what a plan does to the step that it was made for, as the plan itself predicts. */
export function answerPlan(
  {
    name,
    plan,
    memory,
    beforeBytes,
    unlistedBytes = 0,
    device,
    deviceMemoryBytes = device?.memoryBytes,
    mismatch,
  }: PlanOutcome,
  units?: SizeUnit,
): Answer {
  const size = sizeFormat(units);
  const { predicted, steps, subject } = plan;
  const again = steps.filter(({ isRecomputed }) => isRecomputed).length;
  const bytes = memory?.recomputed.reduce((sum, storage) => sum + storage.bytes, 0);
  const step = subject.kind === "trace" ? ` of ${formatMs(predicted.cost)}` : "";
  const outcome = answerOutcome(
    {
      question: `What does ${name} do?`,
      peakBytes: predicted.peakBytes,
      bytesByCategory: memory?.bytesByCategory,
      beforeBytes: beforeBytes ?? predicted.recordedPeakBytes ?? predicted.plain.peakBytes,
      overhead: predicted.overhead,
      deviceMemoryBytes,
      reasons: [
        ...(device?.memoryBytes === undefined ? [] : [describeRoom(device.name, size(device.memoryBytes))]),
        again === 0
          ? `It recomputes nothing${step === "" ? "" : ` in a step${step}`}: everything is freed after its last use.`
          : `It recomputes ${again.toLocaleString("en")} ops${bytes === undefined || bytes === 0 ? "" : `, ${size(bytes)}`}${step === "" ? "" : ` in a step${step}`}.`,
        ...(unlistedBytes > 0
          ? [
              `${size(unlistedBytes)} of that peak are not in the plan's file: weights, inputs and what kernels work with. They are drawn as held all the time (${labelCategory("other")}).`,
            ]
          : []),
      ],
    },
    units,
  );
  if (mismatch === undefined) return outcome;
  const stale = `Stale: the plan is for another run (${mismatch}), so these figures are for that run. Plan this run again.`;
  return { ...outcome, reasons: [stale, ...outcome.reasons], isGood: false };
}

/** How a plan is followed that is at hand alone: it names its model, and not where that is, for which a word of the command stands. */
export interface PlanCommand {
  readonly command: ShellCode;
  readonly stands: "MODEL" | "PROGRAM";
}

/** Returns how a plan that is at hand alone is followed, and what stands for what. */
export function answerFollowing({ subject: { name } }: Plan, { command, stands }: PlanCommand): Answer {
  const what = stands === "PROGRAM" ? `how the program is started that trains ${name}` : `the file of ${name}`;
  return { ...asked("next"), answer: "", reasons: [`${stands} is ${what}.`], command };
}
