import type { BackendName } from "@remat/dispatch-hook/backends/node";
import {
  type FitAnswer,
  type FitSummary,
  type FitUnit,
  fitDocument,
  type StepsToFit,
  summarizeFit,
  unitsOf,
} from "@remat/fit";
import { exportFitStore } from "@remat/fit/node";
import { budgetNotFound } from "@remat/memory";
import { writeDocument } from "@remat/reporting/formats";
import { requireFullyShardable } from "@remat/sharding";
import { RematError } from "@remat/trace";
import { terminal } from "@remat/trace/emit";
import { type Command, defineCommand, type Invocation } from "../command.js";
import type { ConsoleIo } from "../console-io.js";
import { backendOfSteps } from "../fit/backend-of-steps.js";
import { commandForRow } from "../fit/command-for-row.js";
import { findAnswers } from "../fit/find-answers.js";
import { fitGridOptions } from "../fit/fit-grid-options.js";
import { type FitOptions, type FitOptionValues, fitOptionsOf, fitStepOptions, workersOf } from "../fit/fit-options.js";
import { checkOutputs, writeOutputs } from "../fit/fit-outputs.js";
import { LiveTable } from "../fit/live-table.js";
import { notesOfSearch } from "../fit/notes-of-search.js";
import { pruneInTerminal } from "../fit/prune-in-terminal.js";
import { type FitJob, stepsOfJob } from "../fit/steps-of-job.js";
import { formatOption, shapeOf, unitsOption } from "../format-option.js";
import { modelOptionsOf, type StepOptionValues } from "../model-options.js";
import { isOf, type ModelSource, modelSource } from "../model-source.js";
import { interruptedCode, interruptible } from "../plan/interruptible.js";
import { here } from "../pricing-options.js";
import { Progress } from "../progress.js";
import { UsageError } from "../usage-error.js";

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
  const { targets, options: given, io } = invocation;
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
  return search(invocation);
}

async function search({ targets, options: given, typedOptions, io }: Invocation<typeof options>): Promise<number> {
  const { format, units } = given;
  const asked = fitOptionsOf(given, typedOptions);
  checkTerminal(asked, io);
  const shown = checkOutputs(asked, io);
  const { request: step, ...modelFiles } = modelOptionsOf(stepOfFit(given));
  const sources = targets.map((target) => modelSource(target));
  const progress = new Progress(io);
  try {
    const { backend, note } = await backendFor(sources, step.backend, asked, progress);
    const job: FitJob = { sources, options: { request: { ...step, backend }, ...modelFiles } };
    const steps = await stepsOfJob(job, progress);
    const grid = gridOf(asked, steps);
    const named = { model: isOf(job.sources[0], "model") ? targets[0] : steps.name, prices: asked.prices };
    const notes = [...(note === undefined ? [] : [note]), ...notesOfSearch(asked, steps, grid)];
    const shownAs = { units, pricedBy: pricedBy(grid), notes };
    const draw = (answers: Answers): string =>
      writeDocument(fitDocument(summarizeFit(grid, answers, named), { ...shownAs, goesOn: true }), "plain");
    const { answers, isInterrupted } = await searchGrid(grid, { job, steps, asked, draw, progress, io });
    const found = summarizeFit(grid, answers, named);
    progress.clear();
    const summary = asked.prunes ? await pruneInTerminal(found, io.terminal!) : found;
    const { best } = summary;
    await writeOutputs(summary, { asked, steps, shownAs, io });
    const document = fitDocument(summary, {
      ...shownAs,
      command:
        best &&
        commandForRow(best, targets, { typedOptions: backend ? { ...typedOptions, backend } : typedOptions, job }),
    });
    shown.write(format.write(document, shapeOf(io)));
    if (isInterrupted && found.left > 0) return interruptedCode;
    if (best === undefined) throw nothingFits(summary, grid);
    return 0;
  } finally {
    progress.clear();
  }
}

function checkTerminal({ watches, prunes }: FitOptions, io: ConsoleIo): void {
  if (watches && io.stderr.isTTY !== true)
    throw new UsageError("--watch needs a terminal, and standard error is not one. Remove --watch.");
  if (prunes && io.terminal === undefined)
    throw new UsageError("--matrix needs a terminal for its keys, and there is none here. Remove --matrix.");
}

function gridOf({ request, apply }: FitOptions, steps: StepsToFit): readonly FitUnit[] {
  const grid = unitsOf(request, steps);
  if (apply !== undefined && grid.some(({ configuration: { ranks } }) => ranks > 1))
    requireFullyShardable(steps.framework, steps.name);
  if (grid.length === 0) throw new UsageError("no configuration to try. Choose other --ways or --ranks.");
  return grid;
}

/** Describes where the times of a search come from. */
function pricedBy([{ keepsMeasured }]: readonly FitUnit[]): string {
  return keepsMeasured === true
    ? "as measured when the run was recorded"
    : "estimated by the roofline of each device, to compare strategies; nothing was measured";
}

/** Answers to the units of a grid, undefined for units without one so far. */
type Answers = readonly (FitAnswer | undefined)[];

/**
 * Searches a grid until it is complete or interrupted. Shows progress meanwhile and, with `--watch`, the answers so far
 * as `draw` returns them.
 */
async function searchGrid(
  grid: readonly FitUnit[],
  given: {
    readonly job: FitJob;
    readonly steps: StepsToFit;
    readonly asked: FitOptions;
    readonly draw: (answers: Answers) => string;
    readonly progress: Progress;
    readonly io: ConsoleIo;
  },
): Promise<{ readonly answers: Answers; readonly isInterrupted: boolean }> {
  const { job, steps, asked, draw, progress, io } = given;
  const { engine, workers, cache } = asked;
  const soFar = grid.map((): FitAnswer | undefined => undefined);
  const table = asked.watches ? new LiveTable(io) : undefined;
  const { found: answers, isInterrupted } = await interruptible(io, (signal) =>
    findAnswers(grid, {
      ...{ job, steps, engine, workers, cache, signal },
      onProgress: (text) => (table === undefined ? progress.show(text) : table.show(() => `${draw(soFar)}\n${text}`)),
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
  return { answers, isInterrupted };
}

/** The options that describe the steps. Batches and optimizers are searched over. */
function stepOfFit({ size, loss, backend, unit, group, seed, layers }: FitOptionValues): StepOptionValues {
  return { size, loss, backend, unit, group, seed, layers };
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
