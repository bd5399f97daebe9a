import { type BackendName, defaultBackend } from "@remat/dispatch-hook/backends";
import { currentFakeBackend, fakeMode } from "@remat/dispatch-hook/fake";
import { type Grouping, type Layer, ModTracker } from "@remat/mod-tracker";
import { RematError, type Trace } from "@remat/trace";
import { TraceRecorder } from "@remat/tracer";

/** What {@link SACEstimator.estimate} gives to the function that it runs. */
export interface EstimateContext {
  /** Tracks one more model, as the option `models` does; for models that are built inside. */
  readonly track: <T extends Layer>(model: T, name?: string) => T;
  /** Runs a part of a plain function as the module of that name; names nest. */
  readonly scope: <T>(name: string, fn: () => T) => T;
  /**
   * From here on ops are recorded. Without a call everything that `fn` runs is: call it after building a model.
   * @returns what `run` returns
   */
  readonly record: <T>(run: () => T) => T;
}

/** Where a run that is estimated takes place: on the current backend, or in fake mode, perhaps for a backend by name. */
export type EstimateBackend = "real" | "fake" | `fake:${BackendName}`;

export interface RecordRunOptions {
  readonly models: readonly Layer[];
  readonly grouping: Grouping;
  readonly backend: EstimateBackend;
}

/** Records what `fn` runs. */
export async function recordRun(
  fn: (context: EstimateContext) => unknown,
  { backend, ...options }: RecordRunOptions,
): Promise<Trace> {
  if (backend === "real" || currentFakeBackend() !== undefined) return record(fn, options);
  return fakeMode(() => record(fn, options), {
    backend: backend === "fake" ? defaultBackend() : (backend.slice(5) as BackendName),
  });
}

async function record(
  fn: (context: EstimateContext) => unknown,
  { models, grouping }: Omit<RecordRunOptions, "backend">,
): Promise<Trace> {
  const recorder = new TraceRecorder({ outside: false });
  const tracker = new ModTracker({ recorder });
  for (const model of models) tracker.track(model, { grouping });
  let recorded = false;
  const run = <T>(step: () => T): T => {
    recorded = true;
    return tracker.run(step);
  };
  const context: EstimateContext = {
    track: (model, name) => {
      tracker.track(model, { grouping, ...(name !== undefined && { name }) });
      return model;
    },
    scope: (name, part) => tracker.scope(name, part),
    record: run,
  };
  try {
    // Whether `fn` records a part of itself is known only when it has run; building a model twice would be worse than to look at its parameters.
    await (fn.length === 0 ? run(() => fn(context)) : fn(context));
    if (!recorded) throw notRecorded();
    return recorder.trace();
  } finally {
    tracker.close();
  }
}

function notRecorded(): RematError {
  return new RematError(
    "SAC_NOTHING_RECORDED",
    "the function took the estimator's context but recorded nothing. Call record(() => …) around the training step.",
  );
}
