import type { FailureRemedy } from "@remat/memory/failure";
import type { SizeUnit } from "@remat/reporting";
import type { NextStep, WayToFit } from "@remat/reporting/verdict";
import { type ShellCode, shell } from "@remat/trace/emit";
import { formatBudget, formatExactBytes } from "@remat/trace/text";
import { optionKey, optionName, type TypedOptions } from "../command.js";
import { type ModelOptions, recordOptions, stepOptions, weightsOption } from "../model-options.js";
import { isOf, type ModelSource } from "../model-source.js";
import { planFileOf } from "../numbered-path.js";
import { deviceOption } from "../pricing-options.js";
import { typedTarget } from "../standard-input.js";

/** The command line so far, which the next command continues. */
export interface GivenWords {
  /** As typed. */
  readonly target: string;
  readonly typedOptions: TypedOptions;
}

/** A command's input, as far as the next command needs it: plain data, which can be sent to any thread. */
export interface Given extends GivenWords {
  readonly source: ModelSource;
  /** The requested step of the model. */
  readonly step: ModelOptions;
  readonly units: SizeUnit;
  /** True if early release updates weights in the backward pass. Left out: it does not. */
  readonly updateInBackward?: boolean | undefined;
  /** For a recorded program, its command line, if the trace contains it. */
  readonly program?: readonly string[] | undefined;
  /** True if planning for ranks is possible with the trace. Left out: it is. */
  readonly plansRanks?: boolean;
}

/**
 * Returns the command for a way to fit or for the next step, with the model and the typed options. Undefined if there
 * is none. For example, a recorded training step cannot be run.
 */
export function nextCommand(
  given: Given,
  step: WayToFit | NextStep | FailureRemedy,
  deviceMemoryBytes?: number,
): ShellCode | undefined {
  const planFile = planFileOf(given.target);
  const { fsdp: ranks } = given.typedOptions;
  if (typeof ranks === "string" && isOfStep(step)) return commandForRanks(given, ranks, deviceMemoryBytes);
  switch (step.kind) {
    case "early-release":
      return typed("run", given, "--early-release");
    case "unrecomputed":
      return isOf(given.source, "model")
        ? typed("run", given, "--budget", formatBudget(step.peakBytes))
        : typed("plan", given, "--max-overhead", "0%", "-o", planFile);
    case "plan":
      return typed("plan", given, "--budget", formatExactBytes(deviceMemoryBytes!), "-o", planFile);
    case "batch":
      return typed("plan", withOption(given, "batch", String(step.batch)), "--max-overhead", "5%");
    case "sharding":
      return typed(
        "memory",
        given,
        "--fsdp",
        [
          `world=${step.worldSize}`,
          ...step.wrap.map((name) => `wrap=${name}`),
          ...(step.checkpoint ?? []).map((name) => `checkpoint=${name}`),
        ].join(","),
      );
    case "device":
      return typed("memory", withOption(given, "device", step.device));
    case "leaks":
      return ofProgram("leaks", given);
    case "budget":
      return ofProgram("exec", given, "--budget", formatExactBytes(step.budgetBytes));
    case "smaller-batch":
      return undefined;
    case "explain":
      return shell.join([shell.words(["remat", "explain"]), shell.path(typedTarget(given.target))]);
    case "explore":
      return typed("plan", given, "--max-overhead", "5%");
  }
}

/** Returns whether the way or next step is for a step, not for a program that failed. */
function isOfStep({ kind }: WayToFit | NextStep | FailureRemedy): boolean {
  return kind !== "leaks" && kind !== "budget" && kind !== "smaller-batch" && kind !== "explain";
}

/**
 * For a question about ranks, the next command is also about ranks: a plan to wrap, reshard and checkpoint within the
 * device's memory, or their memory.
 */
function commandForRanks(given: Given, sharding: string, deviceMemoryBytes: number | undefined): ShellCode {
  return deviceMemoryBytes === undefined || given.plansRanks === false
    ? typed("memory", given, "--fsdp", sharding)
    : typed("plan", given, "--fsdp", sharding, "--budget", formatExactBytes(deviceMemoryBytes));
}

function ofProgram(command: string, { program }: Given, ...options: readonly string[]): ShellCode | undefined {
  return program && shell.words(["remat", command, ...options, "--", ...program]);
}

function withOption({ target, typedOptions }: GivenWords, name: string, value: string): GivenWords {
  return { target, typedOptions: { ...typedOptions, [name]: value } };
}

/** Returns a command line for the same step: `remat plan model.json --batch 8 …`. */
export function typed(command: string, { target, typedOptions }: GivenWords, ...more: readonly string[]): ShellCode {
  const kept = [...stepOptions, ...(command === "run" ? [weightsOption] : [...recordOptions, deviceOption])];
  const again = kept.flatMap((option) => {
    const value = typedOptions[optionKey(option)];
    return typeof value === "string" ? [`--${optionName(option)}`, value] : [];
  });
  return shell.join([
    shell.words(["remat", command]),
    shell.path(typedTarget(target)),
    ...[...again, ...more].map(shell.word),
  ]);
}
