import type { PlanMemory } from "@remat/memory/sequence";
import type { CategoryName, Plan } from "@remat/trace";
import type { ShellCode } from "@remat/trace/emit";
import { formatNumber } from "@remat/trace/text";
import { labelCategory } from "../category-colours.js";
import { formatMs, formatOverhead, formatPercent, formatWholePercent } from "../format-quantity.js";
import { type SizeUnit, sizeFormat } from "../size-unit.js";
import type { DeviceToFit } from "../verdict/device-to-fit.js";
import { type Answer, asked, describeRoom } from "./answer-first.js";

/** The effect of a change on a step's memory and time. */
export interface StepOutcome {
  readonly question: string;
  readonly peakBytes: number;
  /** Bytes of each category at the peak. */
  readonly bytesByCategory?: Readonly<Partial<Record<CategoryName, number>>> | undefined;
  /** Peak of the unchanged step. Left out if unknown. */
  readonly beforeBytes?: number | undefined;
  /** Extra time as a fraction of the unchanged step's time. Left out if unknown. */
  readonly overhead?: number | undefined;
  /** Memory of the device that the step has to fit on. Left out if unknown. */
  readonly deviceMemoryBytes?: number | undefined;
  /** Additional sentences. */
  readonly reasons?: readonly string[];
}

/** Returns the step's new peak memory, the memory saved, whether the step fits, and the extra time. */
export function answerOutcome(outcome: StepOutcome, units?: SizeUnit): Answer {
  const { question, peakBytes, beforeBytes, overhead, deviceMemoryBytes, bytesByCategory = {}, reasons = [] } = outcome;
  const size = sizeFormat(units);
  const change = beforeBytes === undefined || beforeBytes === 0 ? undefined : peakBytes / beforeBytes - 1;
  const fits = deviceMemoryBytes === undefined ? undefined : peakBytes <= deviceMemoryBytes;
  const told = Object.entries(bytesByCategory)
    .sort(([, a], [, b]) => b - a)
    .filter(([, bytes]) => bytes >= 0.1 * peakBytes)
    .map(([category, bytes]) => `${labelCategory(category).toLowerCase()} (${formatWholePercent(bytes / peakBytes)})`);
  return {
    about: "outcome",
    question,
    answer: `Peak memory ${size(peakBytes)}${change === undefined || change === 0 ? "" : `, ${formatPercent(Math.abs(change))} ${change < 0 ? "less" : "more"}`}`,
    reasons: [
      ...(overhead === undefined
        ? []
        : [overhead === 0 ? "There is no slowdown." : `It takes ${formatOverhead(overhead)} more time.`]),
      ...(fits === undefined
        ? []
        : [
            fits
              ? `It fits, with ${size(deviceMemoryBytes! - peakBytes)} to spare.`
              : `It does not fit: ${size(peakBytes - deviceMemoryBytes!)} too much.`,
          ]),
      ...reasons,
      ...(told.length === 0 ? [] : [`Live at the peak: ${told.join(", ")}.`]),
    ],
    ...(fits !== undefined && { isGood: fits }),
  };
}

/** Question texts for the step before the change. */
const questionsAsRecorded: Readonly<Partial<Record<Answer["about"], string>>> = {
  fit: "Does it fit as recorded?",
  holders: "What uses the most memory as recorded?",
  free: "Could it use less with no slowdown?",
};

/**
 * Puts the outcomes of a change first, with the command to run. The answers about the unchanged step follow. Their
 * questions state that they are about the unchanged step.
 */
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

/** Facts about a plan that the plan file itself does not contain. */
export interface PlanOutcome {
  /** Display name of the plan. */
  readonly name: string;
  readonly plan: Plan;
  /** The step's memory under the plan. Left out if the trace is not available. */
  readonly memory?: PlanMemory;
  /** Peak of the step without the plan. Default: the peak stated in the plan. */
  readonly beforeBytes?: number | undefined;
  /** Part of the peak that the plan's steps do not list. Left out if not computed. */
  readonly unlistedBytes?: number | undefined;
  /** Memory of the device that the step has to fit on. Left out if unknown. */
  readonly deviceMemoryBytes?: number | undefined;
  /** The device with that memory, if it is not stated elsewhere. */
  readonly device?: DeviceToFit | undefined;
  /** The difference, if the run is not the one that the plan was made for. */
  readonly mismatch?: string | undefined;
}

/** Returns the effect of a plan on the step that it was made for, as predicted by the plan itself. */
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
        ...(device?.memoryBytes === undefined
          ? []
          : [describeRoom(device.name, size(device.memoryBytes), device.isDefault)]),
        again === 0
          ? `It recomputes nothing${step === "" ? "" : ` in a step${step}`} and frees everything after its last use.`
          : `It recomputes ${formatNumber(again)} ops${bytes === undefined || bytes === 0 ? "" : `, ${size(bytes)}`}${step === "" ? "" : ` in a step${step}`}.`,
        ...(unlistedBytes > 0
          ? [
              `${size(unlistedBytes)} of that peak is not in the plan file: weights, inputs and scratch memory of kernels. It is drawn as live all the time (${labelCategory("other")}).`,
            ]
          : []),
      ],
    },
    units,
  );
  if (mismatch === undefined) return outcome;
  const stale = `Stale: the plan was made for another run (${mismatch}), and these are its figures for that run. Plan this run again.`;
  return { ...outcome, reasons: [stale, ...outcome.reasons], isGood: false };
}

/**
 * How to apply a plan if only the plan file is available. A plan names its model but not the model's file, so the
 * command has a placeholder for that file.
 */
export interface PlanCommand {
  /** The command, with the placeholder in it. */
  readonly command: ShellCode;
  /** The placeholder: the path of a model, or a program with its arguments. */
  readonly stands: "MODEL" | "PROGRAM";
}

/** Returns the command that applies a plan of which only the file is known. A reason explains its placeholder. */
export function answerFollowing({ subject: { name } }: Plan, { command, stands }: PlanCommand): Answer {
  const what = stands === "PROGRAM" ? `the command that starts the training of ${name}` : `the file of ${name}`;
  return { ...asked("next"), answer: "", reasons: [`${stands} is ${what}.`], command };
}
