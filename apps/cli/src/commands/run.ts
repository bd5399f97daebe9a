import { RematError } from "@remat/trace";
import type { Command, CommandOptions } from "../command.js";
import type { ConsoleIo } from "../console-io.js";
import { parseModelOptions } from "../model-options.js";
import { modelSource } from "../model-source.js";
import { Progress } from "../progress.js";
import { askProcess } from "../run/ask-process.js";
import type { PlanningJob, PlanningResult } from "../run/planning-job.js";
import { type ProcessName, pathOfProcess } from "../run/process-paths.js";
import { describeVerification, renderRun, runFormats } from "../run/render-run.js";
import { parseRunOptions } from "../run/run-options.js";
import { summarizeRun } from "../run/run-summary.js";
import type { Execution, StepJob, StepResult } from "../run/step-job.js";
import type { TrainingSource } from "../run/training.js";
import { verifyRun } from "../run/verify-run.js";
import { parseChoice, UsageError } from "../usage-error.js";

/** `remat run`. */
export const runCommand: Command = {
  options: [
    { flags: "--batch <n>", purpose: "Samples in a batch (default: the model's own, or 1)" },
    { flags: "--size <size>", purpose: "Which size of an example module to build: full or tiny", default: "full" },
    { flags: "--backend <name>", purpose: "tensorflow, wasm or cpu (default: the best that works)" },
    { flags: "--loss <name>", purpose: "sum, mean, meanSquaredError, categoricalCrossentropy, softmaxCrossEntropy" },
    { flags: "--format <format>", purpose: "table or json", default: "table" },
    { flags: "--budget <size>", purpose: "What may be held at once: 0.9 or 60% of what stock holds, or 2GB, 512MiB" },
    { flags: "--max-overhead <share>", purpose: "In place of a budget, how much longer a step may take: 15%" },
    { flags: "--plan <file>", purpose: "In place of a budget, a plan that remat plan -o wrote" },
    { flags: "--early-release", purpose: "Nothing is recomputed; everything goes after its last use" },
    { flags: "--steps <n>", purpose: "How many steps to run", default: 5 },
    {
      flags: "--optimizer <name>",
      purpose: "sgd, momentum, adam, adamax, rmsprop, adagrad or adadelta (default: sgd)",
    },
    { flags: "--data <file>", purpose: "Inputs and targets of a batch: a JSON file or an ES module (default: random)" },
    { flags: "--seed <n>", purpose: "Seed of weights, random data and dropout", default: 1 },
    { flags: "--time <time>", purpose: "How long to look for a plan (default: 20s)" },
    {
      flags: "--verify",
      purpose: "Compare losses, gradients and weights with stock's, bit for bit, in processes of their own",
    },
  ],
  examples: [
    "remat run model.json --budget 2GB --batch 8 --verify",
    "remat run ./my-model.js --budget 60% --optimizer adam",
  ],
  takesModelAnd: [],
  run: ([model], options, io) => run(model, options, io),
};

/** `remat run MODEL`: real training steps, as they are, released early, or within a budget; predicted beside measured. */
export async function run(model: string, options: CommandOptions, io: ConsoleIo): Promise<void> {
  const format = parseChoice("format", options["format"], runFormats);
  const { wanted, steps, seed, timeMs, verify, data } = parseRunOptions(options);
  const { size, batch, backend, loss, optimizer } = parseModelOptions(options);
  const { kind, path, name } = modelSource(model);
  if (kind !== "keras" && kind !== "module")
    throw new UsageError(`${model}: cannot be run. Expected a model: a Keras topology or an ES module.`);
  const source: TrainingSource = { kind, path, name, size, batch, loss, optimizer, data };
  const progress = new Progress(io);
  const ask = <Job extends object, Result>(process: ProcessName, job: Job, what: string): Promise<Result> => {
    progress.show(`${what}: ${name}`, true);
    return askProcess<Job, Result>(pathOfProcess(process), job, { onProgress: (text) => progress.show(text) });
  };
  try {
    const planningJob: PlanningJob = { source, backend, from: process.cwd(), wanted, timeMs, seed };
    const planning = await ask<PlanningJob, PlanningResult>("planning", planningJob, "predicting");
    const job: StepJob = {
      source,
      backend: planning.backend,
      execution: executionOf(planning, wanted.kind),
      steps,
      seed,
      digest: false,
      read: [],
      record: true,
    };
    const measured = await ask<StepJob, StepResult>("executor", job, `running ${steps} steps`);
    const verification = verify ? await verifyRun(job, (process, each, what) => ask(process, each, what)) : undefined;
    progress.clear();
    io.stdout.write(renderRun(summarizeRun(planning, measured, wanted.kind, verification), format));
    if (verification?.isEqual === false) throw new RematError("VERIFY", describeVerification(verification));
  } finally {
    progress.clear();
  }
}

function executionOf({ plan }: PlanningResult, wanted: string): Execution {
  if (plan !== undefined) return { kind: "plan", plan };
  return wanted === "early-release" ? { kind: "early-release" } : { kind: "stock" };
}
