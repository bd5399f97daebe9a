import type { BackendName } from "@remat/dispatch-hook/backends/node";
import {
  type FitAnswer,
  type FitSummary,
  type FitUnit,
  fitDocument,
  type RankedRow,
  summarizeFit,
  unitsOf,
} from "@remat/fit";
import { checkFitStore, exportFitStore, fitParquet, storeFit } from "@remat/fit/node";
import { budgetNotFound } from "@remat/memory";
import { writeDocument } from "@remat/reporting/formats";
import { requireFullyShardable, torchOptimizerCode } from "@remat/sharding";
import { RematError } from "@remat/trace";
import { shell, terminal } from "@remat/trace/emit";
import { formatBudget, formatExactBytes } from "@remat/trace/text";
import { type Command, defineCommand, type Invocation, optionKey, optionName, type TypedOptions } from "../command.js";
import type { ConsoleIo } from "../console-io.js";
import { appliedText } from "../fit/applied-text.js";
import { backendOfSteps } from "../fit/backend-of-steps.js";
import { findAnswers } from "../fit/find-answers.js";
import { fitGridOptions } from "../fit/fit-grid-options.js";
import { type FitOptions, type FitOptionValues, fitOptionsOf, fitStepOptions, workersOf } from "../fit/fit-options.js";
import { LiveTable } from "../fit/live-table.js";
import { pruneInTerminal } from "../fit/prune-in-terminal.js";
import { type FitJob, stepsOfJob } from "../fit/steps-of-job.js";
import { formatOption, shapeOf, unitsOption } from "../format-option.js";
import { modelOptionsOf, type StepOptionValues } from "../model-options.js";
import { isOf, type ModelSource, modelSource } from "../model-source.js";
import { checkFor, shownBeside, writeFor } from "../output.js";
import { interruptedCode, interruptible } from "../plan/interruptible.js";
import { here } from "../pricing-options.js";
import { Progress } from "../progress.js";
import { typedTarget } from "../standard-input.js";
import { UsageError } from "../usage-error.js";
import { typed } from "../verdict/next-command.js";

const options = [...fitGridOptions, ...fitStepOptions, formatOption, unitsOption];

export const fitCommand: Command = defineCommand({
  options,
  examples: [
    "remat fit ./my-model.js --optimizer adam --memory 4GB --devices here",
    "remat fit model.json --devices a100,h100,l4 --price a100=2.5,h100=4,l4=0.7 --objective cost",
    "remat fit run-b8.json.gz run-b16.json.gz --devices h100 --ranks 1,8,64 --precision f32,bf16 --apply shard.py",
  ],
  takes: ["model", "run"],
  run: fit,
});

/**
 * Finds the largest batch and the best strategy on the given devices (`remat fit MODEL`). Returns 130 if it was
 * interrupted before the search was complete.
 */
async function fit(invocation: Invocation<typeof options>): Promise<number> {
  const { targets, options: given, typedOptions, io } = invocation;
  if (given.serve !== undefined) {
    await serve(given.serve, invocation);
    return 0;
  }
  if (given.sqlite !== undefined && given.store === undefined)
    throw new UsageError("--sqlite exports the folder of --store, which was not given. Add --store fits.");
  if (targets.length === 0 && given.sqlite !== undefined && given.store !== undefined) {
    await exportStore(given.store, given.sqlite, io);
    return 0;
  }
  if (targets.length === 0)
    throw new UsageError("no model was given. Name a model or recorded runs of one: see remat fit --help.");
  const { format, units } = given;
  const asked = fitOptionsOf(given, typedOptions);
  const { request, prices, workers, engine, cache, watches, prunes, apply, store, sqlite, parquet, page, label } =
    asked;
  if (watches && io.stderr.isTTY !== true)
    throw new UsageError("--watch needs a terminal, and standard error is not one. Remove --watch.");
  if (prunes && io.terminal === undefined)
    throw new UsageError("--matrix needs a terminal for its keys, and there is none here. Remove --matrix.");
  const files = { "--apply": apply, "--parquet": parquet, "--html": page };
  const shown = shownBeside(io, files);
  // Checks the output files first, because the result of a long search would be lost if they cannot be written.
  for (const [option, path] of Object.entries({ ...files, "--sqlite": sqlite }))
    if (path !== undefined) checkFor(option, path);
  if (store !== undefined) checkFitStore(store);
  const { request: step, ...modelFiles } = modelOptionsOf(stepOfFit(given));
  const sources = targets.map((target) => modelSource(target));
  const progress = new Progress(io);
  try {
    const { backend, note } = await backendFor(sources, step.backend, asked, progress);
    const job: FitJob = { sources, options: { request: { ...step, backend }, ...modelFiles } };
    const steps = await stepsOfJob(job, progress);
    const grid = unitsOf(request, steps);
    if (apply !== undefined && grid.some(({ configuration: { ranks } }) => ranks > 1))
      requireFullyShardable(steps.framework, steps.name);
    if (grid.length === 0) throw new UsageError("no configuration to try. Choose other --ways or --ranks.");
    const model = isOf(job.sources[0], "model") ? targets[0] : steps.name;
    const shownAs = {
      units,
      pricedBy:
        grid[0].keepsMeasured === true
          ? "as measured when the run was recorded"
          : "estimated by the roofline of each device, to compare strategies; nothing was measured",
      notes: [
        ...(note === undefined ? [] : [note]),
        ...describeReserve(asked),
        ...describeScaling(steps),
        ...describeOptimizers(request.optimizers),
        ...describeUnjoined(grid),
      ],
    };
    const soFar = grid.map((): FitAnswer | undefined => undefined);
    const table = watches ? new LiveTable(io) : undefined;
    const draw = (): string =>
      writeDocument(fitDocument(summarizeFit(grid, soFar, { model, prices }), { ...shownAs, goesOn: true }), "plain");
    const { found: answers, isInterrupted } = await interruptible(io, (signal) =>
      findAnswers(grid, {
        ...{ job, steps, engine, workers, cache, signal },
        onProgress: (text) => (table === undefined ? progress.show(text) : table.show(() => `${draw()}\n${text}`)),
        onNotice(text) {
          progress.clear();
          table?.clear();
          io.stderr.write(terminal`remat: ${text}\n`);
        },
        onAnswer(answer, i) {
          soFar[i] = answer;
        },
      }),
    ).finally(() => table?.clear());
    const found = summarizeFit(grid, answers, { model, prices });
    progress.clear();
    const summary = prunes ? await pruneInTerminal(found, io.terminal!) : found;
    const { best } = summary;
    if (apply !== undefined && best !== undefined) await writeFor("--apply", apply, await appliedText(best, steps), io);
    const search = { at: timeOfSearch(io), label };
    if (store !== undefined) storeFit(store, summary, search);
    if (store !== undefined && sqlite !== undefined) await exportFitStore(store, sqlite);
    if (parquet !== undefined) await writeFor("--parquet", parquet, await fitParquet(summary, search), io);
    if (page !== undefined) {
      const { renderFit } = await import("@remat/report");
      const notes = [`Times: ${shownAs.pricedBy}.`, ...shownAs.notes];
      await writeFor("--html", page, renderFit(summary, { notes }), io);
    }
    const document = fitDocument(summary, {
      ...shownAs,
      command:
        best && commandFor(best, targets, { typedOptions: backend ? { ...typedOptions, backend } : typedOptions, job }),
    });
    shown.write(format.write(document, shapeOf(io)));
    if (isInterrupted && found.left > 0) return interruptedCode;
    if (best === undefined) throw nothingFits(summary, grid);
    return 0;
  } finally {
    progress.clear();
  }
}

/** The options that describe the steps. Batches and optimizers are searched over. */
function stepOfFit({ size, loss, backend, unit, group, seed, layers }: FitOptionValues): StepOptionValues {
  return { size, loss, backend, unit, group, seed, layers };
}

/**
 * Returns the end time of the search, for the rows of the store. For reproducible output, `SOURCE_DATE_EPOCH` (in
 * seconds) replaces it.
 */
function timeOfSearch({ env }: Pick<ConsoleIo, "env">): string {
  const epoch = env["SOURCE_DATE_EPOCH"];
  return (epoch !== undefined && /^\d{1,10}$/.test(epoch) ? new Date(1000 * Number(epoch)) : new Date()).toISOString();
}

/** Exports a store for others to query (`remat fit --store fits --sqlite fits.sqlite`). */
async function exportStore(folder: string, path: string, io: ConsoleIo): Promise<void> {
  const rows = await exportFitStore(folder, path);
  io.stderr.write(terminal.lines([`remat: wrote ${rows} rows to ${path}`]));
}

/** Runs jobs of searches on other machines until Ctrl-C (`remat fit --serve`). */
async function serve(url: string, { targets, options: given, io }: Invocation<typeof options>): Promise<void> {
  if (targets.length === 0)
    throw new UsageError("--serve needs the files to answer about. Name models or recorded runs.");
  const [{ serveFleetUnits }, { GivenFiles }] = await Promise.all([
    import("../fit/serve-fleet-units.js"),
    import("../fit/fleet-files.js"),
  ]);
  const worker = await serveFleetUnits(url, {
    given: new GivenFiles(targets, given.layers),
    workers: workersOf(given),
    onAnswered: (answered) => io.stderr.write(terminal`remat: answered ${answered}\n`),
  });
  io.stderr.write(terminal`remat: waiting for work; Ctrl-C stops after the current units\n`);
  await new Promise<void>((resolve) => io.onInterrupt?.(resolve));
  await worker.close();
}

/** Suggests `--reserve`, because a training process also uses memory for other things than tensors. */
function describeReserve({ request: { devices, memoryBytes, reserveBytes } }: FitOptions): readonly string[] {
  return memoryBytes !== undefined && reserveBytes === undefined && devices.some(({ name }) => name === here)
    ? ["all of --memory is used for tensors: --reserve 500MB keeps some of it for the process"]
    : [];
}

/** Each recorded run names its own backend. */
async function backendFor(
  [first]: readonly ModelSource[],
  named: BackendName | undefined,
  { request: { devices } }: FitOptions,
  progress: Pick<Progress, "show">,
): Promise<{ readonly backend: BackendName | undefined; readonly note: string | undefined }> {
  if (!isOf(first, "model")) return { backend: named, note: undefined };
  const isHere = devices.some(({ name }) => name === here);
  if (isHere && named === undefined) progress.show("searching for a backend that trains here");
  const { name, note } = await backendOfSteps(named, { isHere, from: process.cwd() });
  return { backend: name, note };
}

function describeScaling({
  recordedBatches,
  residualBytes,
}: {
  readonly recordedBatches?: readonly number[];
  readonly residualBytes?: number;
}): readonly string[] {
  if (recordedBatches === undefined || recordedBatches.length < 2) return [];
  return [
    `scaled linearly from runs recorded at batches ${recordedBatches.join(", ")}, off by at most ${residualBytes ?? 0} bytes there`,
  ];
}

/** Describes optimizers other than the recorded one, with the code that a program needs for them. */
function describeOptimizers(optimizers: readonly string[] = []): readonly string[] {
  return optimizers.flatMap((name) => {
    const code = torchOptimizerCode(name);
    return code === undefined ? [] : [`${name}: ${code} instead of the recorded optimizer, by its state`];
  });
}

/** Names devices whose interconnect is unknown. */
function describeUnjoined(grid: readonly FitUnit[]): readonly string[] {
  const names = grid.flatMap(({ spec, network, configuration: { ranks } }) =>
    ranks > 1 && network === undefined && spec.network === undefined ? [spec.name] : [],
  );
  if (names.length === 0) return [];
  return [
    `ranks of ${[...new Set(names)].join(", ")} have no times, since their network is unknown: give --network, or network in the device file`,
  ];
}

function nothingFits(
  { model: name, notFitting, refused, left }: FitSummary,
  [{ batches }]: readonly FitUnit[],
): RematError {
  if (notFitting.length === 0 && refused.length > 0)
    return new RematError("FIT_NOTHING", `${name}: no configuration is possible: ${refused[0].reason}.`);
  if (notFitting.length === 0 && left > 0)
    return new RematError("FIT_NOTHING", `${name}: the search ended before it found anything. Let it run longer.`);
  if (notFitting.length === 0)
    return new RematError("FIT_NOTHING", `${name}: every result was excluded. Exclude fewer.`);
  return new RematError(
    notFitting.every(({ smallest }) => smallest.isProven) ? "FIT_NOTHING" : budgetNotFound,
    `${name}: nothing fits with a batch of ${batches[0]} or more. Try a larger device, more --ranks, --offload, or a larger --max-overhead.`,
  );
}

/** Options left out of the suggested command that writes the result: where the search runs, and its other outputs. */
const saidOnce: ReadonlySet<string> = new Set([
  ...["engine", "serve", "workers"],
  ...["watch", "matrix", "html", "store", "sqlite", "parquet", "label", "apply"],
]);

/**
 * Returns the command that writes the file with which PyTorch trains a recorded run as in the best row. Undefined if
 * PyTorch needs no such file.
 */
function commandToApply(
  { sharding, policy }: RankedRow,
  targets: readonly string[],
  typedOptions: TypedOptions,
): string | undefined {
  if (sharding === undefined && (policy ?? []).length === 0) return undefined;
  const again = [...fitGridOptions, ...fitStepOptions].flatMap((option) => {
    const name = optionName(option);
    const value = saidOnce.has(name) ? undefined : typedOptions[optionKey(option)];
    if (value === undefined || value === false || value === option.default) return [];
    return [value].flat().flatMap((each) => (each === true ? [`--${name}`] : [`--${name}`, String(each)]));
  });
  return shell`remat fit ${shell.join(targets.map((target) => shell.path(typedTarget(target))))} ${shell.words([
    ...again,
    "--apply",
    sharding === undefined ? "policy.json" : "shard.py",
  ])}`;
}

/** Returns the command that runs, or plans, a step as in the best row. */
function commandFor(
  row: RankedRow,
  targets: readonly string[],
  { typedOptions, job }: { readonly typedOptions: TypedOptions; readonly job: FitJob },
): string | undefined {
  const [source] = job.sources;
  const { apply, memory, reserve } = typedOptions;
  if (!isOf(source, "model")) return apply === undefined ? commandToApply(row, targets, typedOptions) : undefined;
  const { configuration, batch, memoryBytes, sharding, peakBytes, overhead } = row;
  if (sharding !== undefined) return undefined;
  const { way, optimizer } = configuration;
  const given = { target: targets[0], typedOptions: { ...typedOptions, batch: String(batch), optimizer } };
  // `run` limits the resident memory of the whole process.
  const limits =
    typeof memory === "string" && typeof reserve === "string" ? ["--memory", memory, "--reserve", reserve] : [];
  switch (way) {
    case "stock":
      return typed("run", given, ...limits);
    case "early-release":
      return typed("run", given, "--early-release", ...limits);
    case "update-in-backward":
      return typed("run", given, "--early-release", "--update-in-backward", ...limits);
    case "recompute":
      // If the plan adds no time, the budget is the plan's own peak.
      return typed(
        "run",
        given,
        "--budget",
        overhead === 0 ? formatBudget(peakBytes) : formatExactBytes(memoryBytes),
        ...limits,
      );
    case "offload":
      return typed("plan", given, "--budget", formatExactBytes(memoryBytes), "--link", "device");
  }
}
