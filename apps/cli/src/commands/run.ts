import { formatTypedPercent } from "@remat/reporting";
import { judgeStep } from "@remat/reporting/verdict";
import { RematError } from "@remat/trace";
import { type Command, defineCommand, type Invocation } from "../command.js";
import { formatOption, unitsOption } from "../format-option.js";
import type { StepSource } from "../load-model.js";
import { modelOptionsOf, stepOptions, weightsOption } from "../model-options.js";
import { describeKinds, isOf, modelSource } from "../model-source.js";
import { keepingWithin } from "../native/index.js";
import { deviceOption } from "../pricing-options.js";
import { Progress } from "../progress.js";
import { askProcess } from "../run/ask-process.js";
import type { PlanningJob, PlanningResult, Wanted } from "../run/planning-job.js";
import { type ProcessName, pathOfProcess } from "../run/process-paths.js";
import { requireRoom, roomOf } from "../run/require-room.js";
import { describeVerification, runDocument } from "../run/run-document.js";
import { runOptions, runOptionsOf } from "../run/run-options.js";
import { summarizeRun } from "../run/run-summary.js";
import type { Execution, StepJob, StepResult } from "../run/step-job.js";
import { stepOfPlan } from "../run/step-of-plan.js";
import { verifyRun } from "../run/verify-run.js";
import { describeBudget } from "../typed-quantities.js";
import { UsageError } from "../usage-error.js";
import { type GivenWords, typed } from "../verdict/next-command.js";
import { withVerdictFirst } from "../verdict/show-verdict.js";
import { thisMachine } from "../verdict/this-machine.js";

const options = [
  ...runOptions,
  ...stepOptions,
  weightsOption,
  {
    ...deviceOption,
    purpose: "Device that the step must fit on: a name or a JSON file (default: this machine)",
  },
  formatOption,
  unitsOption,
];

export const runCommand: Command = defineCommand({
  options,
  examples: [
    "remat run model.json --budget 2GB --batch 8 --verify",
    "remat run ./my-model.js --budget 60% --optimizer adam",
    "remat run model.json --early-release --batch 8",
  ],
  takes: ["model"],
  run,
});

/**
 * Runs real training steps unmodified, with early release, or within a budget, and compares prediction and measurement
 * (`remat run MODEL`).
 */
async function run({
  targets: [target],
  options: values,
  typedOptions,
  io,
}: Invocation<typeof options>): Promise<void> {
  const { format, units } = values;
  const { wanted, steps, timeMs, verify, memory } = runOptionsOf(values, typedOptions);
  const { offloadOnHost: offloadsOnHost, top } = values;
  if (offloadsOnHost && wanted.kind !== "plan")
    throw new UsageError("--offload-on-host needs a --plan that offloads. Add one, or remove it.");
  const asked = values.device;
  const { request: step, layers } = modelOptionsOf(values);
  // For `run`, --steps is the number of steps to run.
  const given = { ...step, steps: undefined };
  const found = modelSource(target);
  const { name } = found;
  if (!isOf(found, "model"))
    throw new UsageError(`${target}: not a model, so it cannot run. Expected ${describeKinds(["model"])}.`);
  const { request, backend, note } =
    wanted.kind === "plan"
      ? stepOfPlan(wanted.plan, wanted.path, given)
      : { request: given, backend: undefined, note: undefined };
  const { weights } = values;
  const { checkpointing = "free" } = given;
  const source: StepSource = { ...found, data: request.data, layers, weights, request: { ...request, checkpointing } };
  const progress = new Progress(io);
  // The allocator keeps freed memory only while the process stays within its limit.
  const env = memory && keepingWithin(roomOf(memory));
  const ask = <Job extends object, Result>(process: ProcessName, job: Job, what: string): Promise<Result> => {
    progress.show(`${what}: ${name}`, true);
    const onProgress = (text: string) => progress.show(text);
    return askProcess<Job, Result>(pathOfProcess(process), job, { onProgress, env });
  };
  try {
    const planningJob: PlanningJob = { source, plannedBackend: backend, from: process.cwd(), wanted, timeMs, memory };
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
      // The limit does not apply to the baseline run.
      {
        ...job,
        maxResidentBytes: memory?.bytes,
        predictedPeakBytes: memory && planned.predicted.peakBytes,
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
      commandFor: () => afterRun({ target, typedOptions }, wanted, verify),
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

/** Suggests less memory after an unmodified run, and a comparison with the baseline after others. */
function afterRun(given: GivenWords, wanted: Wanted, isVerified: boolean): string | undefined {
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
