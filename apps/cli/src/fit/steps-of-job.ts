import { mostLibraryBytes } from "@remat/dispatch-hook/backends";
import { type RecordedRun, type StepsToFit, stepsOfRuns } from "@remat/fit";
import { type Extrapolation, extrapolateRuns } from "@remat/memory/extrapolation";
import { countReplayedOps, RematError, type Trace } from "@remat/trace";
import { type StepRequest, stepToPlan } from "@remat/tracer/step";
import { loadTrace } from "../load-trace.js";
import type { ModelOptions } from "../model-options.js";
import { isOf, type ModelSource } from "../model-source.js";
import type { Progress } from "../progress.js";
import { expectSteps, modelOf, releasedOnce, traceOnce, traceReleased } from "../trace-once.js";
import { UsageError } from "../usage-error.js";

/** The source of steps as plain data, which can be sent to every thread and every machine that has the files. */
export interface FitJob {
  readonly sources: readonly ModelSource[];
  readonly options: ModelOptions;
}

/**
 * Returns the steps of a model, or steps extrapolated from recorded runs.
 *
 * @throws UsageError if files of both kinds are named, or several models; any error in loading them
 */
export async function stepsOfJob({ sources, options }: FitJob, progress: Pick<Progress, "show">): Promise<StepsToFit> {
  const [first, ...others] = sources;
  if (isOf(first, "model")) {
    if (others.length > 0)
      throw new UsageError(
        `${first.name} is a model, so remat fit traces it at each batch and reads no other files. Name only ${first.name}.`,
      );
    return stepsOfModel(first, options);
  }
  const runs = [];
  for (const source of sources) {
    if (isOf(source, "model"))
      throw new UsageError(`${source.name} is a model and ${first.name} a recorded run. Name one model, or only runs.`);
    runs.push({ name: source.name, trace: await loadTrace(source, options, progress) });
  }
  const steps = stepsOfRuns(runs);
  return steps.framework === "tfjs" ? { ...steps, libraryBytesAt: libraryBytesOf(steps.stepAt) } : steps;
}

/**
 * A device with a link has its own memory and different kernels, so host library memory does not apply. If the CPU's
 * library is unknown, the larger amount is assumed.
 */
const libraryBytesOf =
  (stepAt: StepsToFit["stepAt"]): NonNullable<StepsToFit["libraryBytesAt"]> =>
  async (batch, optimizer, { linkGBps, oneDnn = false }) =>
    linkGBps === undefined ? mostLibraryBytes(await stepAt(batch, optimizer), oneDnn) : 0;

/** Number of scaled steps to cache, since several strategies and devices need the same ones. */
const mostKept = 6;

async function stepsOfModel(source: ModelSource<"model">, { request, layers }: ModelOptions): Promise<StepsToFit> {
  const silent = { show() {} };
  const optionsOf = (asked: Partial<StepRequest>): ModelOptions => ({
    request: { ...request, ...asked },
    data: undefined,
    layers,
  });
  // A model that cannot be loaded is an error of the job, not of each step.
  await modelOf(source, optionsOf({}));
  const own = request.optimizer;
  const stepAt: StepsToFit["stepAt"] = (batch, optimizer = own) =>
    traceOnce(source, optionsOf({ batch, optimizer }), silent);
  const freeStepAt: StepsToFit["freeStepAt"] = (batch, optimizer = own) =>
    traceOnce(source, optionsOf({ batch, optimizer, ...stepToPlan }), silent);
  const releasedPeakAt: ReleasedPeakAt = (batch, optimizer = own, updateInBackward) =>
    releasedOnce(source, optionsOf({ batch, optimizer }), updateInBackward, silent);
  const scaledRelease = remembering(Number.POSITIVE_INFINITY, async ({ optimizer = own, updateInBackward }: Release) =>
    scaledPeak(
      await runsToScale((batch) => traceReleased(source, optionsOf({ batch, optimizer }), updateInBackward, silent)),
    ),
  );
  const scaled = remembering(Number.POSITIVE_INFINITY, async ({ optimizer = own }: Pick<Release, "optimizer">) => {
    for (const batch of scaledFrom) {
      const options = optionsOf({ batch, optimizer });
      expectSteps(source, [{ options }, { options: optionsOf({ batch, optimizer, ...stepToPlan }) }]);
    }
    return scaledSteps(
      {
        asTheyAre: await runsToScale((batch) => stepAt(batch, optimizer)),
        free: await runsToScale((batch) => freeStepAt(batch, optimizer)),
      },
      async (batch, _, updateInBackward) => {
        const peakAt = await scaledRelease({ optimizer, updateInBackward });
        return peakAt === undefined ? releasedPeakAt(batch, optimizer, updateInBackward) : peakAt(batch);
      },
    );
  });
  return {
    name: source.name,
    framework: "tfjs",
    stepAt,
    freeStepAt,
    releasedPeakAt,
    libraryBytesAt: libraryBytesOf(stepAt),
    scaled: (optimizer) => scaled({ optimizer }),
  };
}

type ReleasedPeakAt = NonNullable<StepsToFit["releasedPeakAt"]>;

/** A step with early release. */
interface Release {
  readonly optimizer: string | undefined;
  readonly updateInBackward: boolean;
}

/** Batches to scale others from. With a single sample, some models skip work that they do for several. */
const scaledFrom: readonly number[] = [2, 3];

async function runsToScale(stepAt: (batch: number) => Promise<Trace>): Promise<readonly RecordedRun[]> {
  const runs: RecordedRun[] = [];
  for (const batch of scaledFrom) runs.push({ name: `batch ${batch}`, trace: await stepAt(batch) });
  return runs;
}

/**
 * Steps scaled from a few recordings. Undefined if ops depend on the batch, or if the model checkpoints manually, since
 * plans ignore manual checkpointing.
 */
function scaledSteps(
  { asTheyAre, free }: Readonly<Record<"asTheyAre" | "free", readonly RecordedRun[]>>,
  releasedPeakAt: ReleasedPeakAt,
): StepsToFit | undefined {
  if (asTheyAre.some(({ trace }) => countReplayedOps(trace) > 0)) return undefined;
  return unlessTheyDiffer(() => {
    const { name, framework, stepAt } = stepsOfRuns(asTheyAre, scaledFrom);
    const { stepAt: freeStepAt } = stepsOfRuns(free, scaledFrom);
    const [kept, keptFree] = [stepAt, freeStepAt].map((at) =>
      remembering(mostKept, ({ batch }: { readonly batch: number }) => at(batch, undefined)),
    );
    const keptStepAt: StepsToFit["stepAt"] = (batch) => kept({ batch });
    return {
      name,
      framework,
      stepAt: keptStepAt,
      freeStepAt: (batch) => keptFree({ batch }),
      releasedPeakAt,
      libraryBytesAt: libraryBytesOf(keptStepAt),
    };
  });
}

/** Returns the peak at any batch, scaled from recordings. Undefined if ops depend on the batch. */
function scaledPeak(runs: readonly RecordedRun[]): Extrapolation["peakAt"] | undefined {
  return unlessTheyDiffer(() => extrapolateRuns(runs, scaledFrom).peakAt);
}

/** Returns undefined if runs cannot be scaled. */
function unlessTheyDiffer<T>(scale: () => T): T | undefined {
  try {
    return scale();
  } catch (error) {
    if (!(error instanceof RematError)) throw error;
    return undefined;
  }
}

/** Caches the latest answers. A failed answer is requested again. */
function remembering<Asked extends object, T>(
  most: number,
  ask: (asked: Asked) => Promise<T>,
): (asked: Asked) => Promise<T> {
  const known = new Map<string, T>();
  return async (asked) => {
    const key = JSON.stringify(asked);
    const found = known.get(key) ?? (await ask(asked));
    known.delete(key);
    known.set(key, found);
    if (known.size > most) known.delete(known.keys().next().value!);
    return found;
  };
}
