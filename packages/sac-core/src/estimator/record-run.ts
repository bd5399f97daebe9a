import { type BackendName, defaultBackend } from "@remat/dispatch-hook/backends";
import { currentFakeBackend, fakeMode } from "@remat/dispatch-hook/fake";
import { type Grouping, type Layer, ModTracker } from "@remat/mod-tracker";
import { RematError, type Trace } from "@remat/trace";
import { TraceRecorder } from "@remat/tracer";

/** The argument that {@link SACEstimator.estimate} passes to the function it runs. */
export interface EstimateContext {
  /** Tracks another model that is built inside the function, like the option `models`. */
  readonly track: <T extends Layer>(model: T, name?: string) => T;
  /** Runs part of a plain function as a module with this name. Names nest. */
  readonly scope: <T>(name: string, fn: () => T) => T;
  /**
   * Records only the ops that `run` runs. Call it after building a model. If you do not call it, everything in `fn` is
   * recorded.
   *
   * @returns the result of `run`
   */
  readonly record: <T>(run: () => T) => T;
}

/** Where an estimated run takes place: on the current backend, or in fake mode, optionally for a named backend. */
export type EstimateBackend = "real" | "fake" | `fake:${BackendName}`;

export interface RecordRunOptions {
  readonly models: readonly Layer[];
  readonly grouping: Grouping;
  readonly backend: EstimateBackend;
}

/** Records the ops that `fn` runs. */
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
    // A function with a parameter may record a part of itself, which shows only when it has run. Building a model twice
    // would be worse than checking the parameter count.
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
    "the function used the estimator's context but recorded nothing. Call record(() => …) around the training step.",
  );
}
