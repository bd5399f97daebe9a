import { resolve } from "node:path";
import { formatTypedPercent } from "@remat/reporting";
import { judgeStep } from "@remat/reporting/verdict";
import { RematError } from "@remat/trace";
import type { Command, CommandOptions } from "../command.js";
import type { ConsoleIo } from "../console-io.js";
import { formatOption, parseFormat, parseUnits, unitsOption } from "../format-option.js";
import type { StepSource } from "../load-model.js";
import { parseModelOptions, stepOptions, weightsOption } from "../model-options.js";
import { describeKinds, isOf, modelSource } from "../model-source.js";
import { keepingWithin } from "../native/index.js";
import { describeBudget } from "../plan/plan-options.js";
import { deviceOption, parsePricing } from "../pricing-options.js";
import { Progress } from "../progress.js";
import { askProcess } from "../run/ask-process.js";
import type { PlanningJob, PlanningResult, Wanted } from "../run/planning-job.js";
import { type ProcessName, pathOfProcess } from "../run/process-paths.js";
import { requireRoom, roomOf } from "../run/require-room.js";
import { describeVerification, runDocument } from "../run/run-document.js";
import { parseRunOptions } from "../run/run-options.js";
import { summarizeRun } from "../run/run-summary.js";
import type { Execution, StepJob, StepResult } from "../run/step-job.js";
import { stepOfPlan } from "../run/step-of-plan.js";
import { verifyRun } from "../run/verify-run.js";
import { updateInBackwardOption } from "../update-in-backward-option.js";
import { parseCount, parseText, UsageError } from "../usage-error.js";
import { type Given, typed } from "../verdict/next-command.js";
import { withVerdictFirst } from "../verdict/show-verdict.js";
import { thisMachine } from "../verdict/this-machine.js";

/** `remat run`. */
export const runCommand: Command = {
  options: [
    ...stepOptions,
    weightsOption,
    {
      ...deviceOption,
      purpose: "Device that the step is meant for: a name or a JSON file (default: this machine, on which it runs)",
    },
    formatOption,
    unitsOption,
    {
      flags: "--budget <size>",
      access: "data",
      purpose: "What may be held at once: 0.9 or 60% of what stock holds, or 2GB, 512MiB",
    },
    {
      flags: "--max-overhead <share>",
      access: "data",
      purpose: "In place of a budget, how much longer a step may take: 15%",
    },
    {
      flags: "--plan <file>",
      access: "file",
      reads: true,
      purpose: "In place of a budget, a plan that remat plan -o wrote",
    },
    {
      flags: "--offload-on-host",
      access: "data",
      purpose: "Follow a --plan that offloads where the device's memory is the host's, too, which saves nothing there",
    },
    {
      flags: "--early-release",
      access: "data",
      purpose: "Nothing is recomputed; everything is freed after its last use",
    },
    updateInBackwardOption,
    {
      flags: "--memory <size>",
      access: "data",
      purpose: "What the process may have resident: refused where a step is predicted to need more, ended where it has",
    },
    {
      flags: "--reserve <size>",
      access: "data",
      purpose: "Of --memory, what is kept for what is no tensor (default: nothing)",
    },
    { flags: "--steps <n>", access: "data", purpose: "How many steps to run", default: 5 },
    { flags: "--time <time>", access: "data", purpose: "How long to look for a plan (default: 20s)" },
    {
      flags: "--top <n>",
      access: "data",
      purpose: "How many of the largest storages at the measured peak to list",
      default: 10,
    },
    {
      flags: "--verify",
      access: "data",
      purpose: "Compare losses, gradients and weights with stock's, bit for bit, in processes of their own",
    },
  ],
  examples: [
    "remat run model.json --budget 2GB --batch 8 --verify",
    "remat run ./my-model.js --budget 60% --optimizer adam",
  ],
  takes: ["model"],
  run: ([model], options, io) => run(model, options, io),
};

/** Takes (`remat run MODEL`) real training steps, as they are, released early, or within a budget; predicted beside measured. */
export async function run(model: string, options: CommandOptions, io: ConsoleIo): Promise<void> {
  const format = parseFormat(options);
  const units = parseUnits(options);
  const { wanted, steps, timeMs, verify, memory } = parseRunOptions(options);
  const offloadsOnHost = options["offloadOnHost"] === true;
  if (offloadsOnHost && wanted.kind !== "plan")
    throw new UsageError("--offload-on-host is for a --plan that offloads.");
  const top = parseCount("top", options["top"]);
  const asked = options["device"] === undefined ? undefined : parsePricing(options).device;
  // Of `run`, --steps says how many to run.
  const { request: given, layers } = parseModelOptions({ ...options, steps: undefined });
  const found = modelSource(model);
  const { name } = found;
  if (!isOf(found, "model"))
    throw new UsageError(`${model}: cannot be run. Expected a model: ${describeKinds(["model"])}.`);
  const { request, backend, note } =
    wanted.kind === "plan"
      ? stepOfPlan(wanted.plan, wanted.path, given)
      : { request: given, backend: undefined, note: undefined };
  const weights = options["weights"] === undefined ? undefined : resolve(parseText("weights", options["weights"]));
  const { checkpointing = "free" } = given;
  const source: StepSource = { ...found, data: request.data, layers, weights, request: { ...request, checkpointing } };
  const progress = new Progress(io);
  // What tensors leave free is not kept where the process has no room for it.
  const env = memory && keepingWithin(roomOf(memory));
  const ask = <Job extends object, Result>(process: ProcessName, job: Job, what: string): Promise<Result> => {
    progress.show(`${what}: ${name}`, true);
    const onProgress = (text: string) => progress.show(text);
    return askProcess<Job, Result>(pathOfProcess(process), job, { onProgress, ...(env && { env }) });
  };
  try {
    const limit = memory === undefined ? {} : { memory };
    const planningJob: PlanningJob = { source, plannedBackend: backend, from: process.cwd(), wanted, timeMs, ...limit };
    const planned = await ask<PlanningJob, PlanningResult>("planning", planningJob, "predicting");
    const planning = { ...planned, notes: [...(note === undefined ? [] : [note]), ...planned.notes] };
    const { predicted, libraryBytes } = planned;
    requireRoom(name, { peakBytes: predicted.peakBytes, libraryBytes }, memory);
    const job: StepJob = {
      source,
      backend: planning.backend,
      execution: executionOf(planning, wanted, offloadsOnHost),
      steps,
      digest: false,
      read: [],
      record: true,
      largest: top,
    };
    const measured = await ask<StepJob, StepResult>(
      "executor",
      // What is held against it, stock, is not.
      {
        ...job,
        ...(memory !== undefined && {
          maxResidentBytes: memory.bytes,
          predictedPeakBytes: planned.predicted.peakBytes,
        }),
      },
      `running ${steps} steps`,
    );
    const verification = verify ? await verifyRun(job, (process, each, what) => ask(process, each, what)) : undefined;
    progress.clear();
    const summary = summarizeRun(planning, measured, wanted.kind, verification);
    const verdict = judgeStep(summary.stock, {
      device: asked ?? thisMachine(summary.measured.moment?.device),
      units,
      outcome: { name: "measured", peakBytes: summary.measured.peakBytes },
      commandFor: () => afterRun({ target: model, source: found, options }, wanted, verify),
    });
    io.stdout.write(withVerdictFirst(runDocument(summary, units), verdict, format, io));
    if (verification?.isEqual === false) throw new RematError("VERIFY", describeVerification(verification));
  } finally {
    progress.clear();
  }
}

function executionOf({ plan }: PlanningResult, wanted: Wanted, offloadsOnHost: boolean): Execution {
  if (plan !== undefined) return { kind: "plan", plan, offloadsOnHost };
  return wanted.kind === "early-release" ? wanted : { kind: "stock" };
}

/** What ran as it is can run in less; what ran in less can be held against stock. */
function afterRun(given: Given, wanted: Wanted, isVerified: boolean): string | undefined {
  if (wanted.kind === "stock") return typed("run", given, "--early-release");
  if (isVerified) return undefined;
  switch (wanted.kind) {
    case "early-release":
      return typed(
        "run",
        given,
        "--early-release",
        ...(wanted.updateInBackward ? ["--update-in-backward"] : []),
        "--verify",
      );
    case "plan":
      return typed("run", given, "--plan", wanted.path, "--verify");
    case "budget":
      return typed("run", given, "--budget", describeBudget(wanted.budget), "--verify");
    case "overhead":
      return typed("run", given, "--max-overhead", formatTypedPercent(wanted.maxOverhead), "--verify");
  }
}
