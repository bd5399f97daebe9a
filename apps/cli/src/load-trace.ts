import { createReadStream } from "node:fs";
import { RematError, readTrace, type Trace } from "@remat/trace";
import { loadModel, parseJson } from "./load-model.js";
import { type ModelOptions, optionOfField } from "./model-options.js";
import type { ModelSource } from "./model-source.js";
import type { Progress } from "./progress.js";
import { UsageError } from "./usage-error.js";

/** Returns the trace that MODEL names, or one of a training step of the model that it names. */
export async function loadTrace(
  source: ModelSource,
  options: ModelOptions,
  progress: Pick<Progress, "show">,
): Promise<Trace> {
  switch (source.kind) {
    case "trace":
    case "pytorch":
      refuseToChange(source, options);
      return inUnits(await readRecorded(source, progress), options);
    case "graph":
      throw new RematError(
        "MODEL_GRAPH",
        `${source.path}: a graph file, which holds neither a model nor a run. Only remat plan reads these; name a model or a trace.`,
      );
    default:
      return traceModel({ ...source, ...options }, progress);
  }
}

/** Returns what of the options is also for what was recorded: the rest says how to take a step. */
export function optionsForRecorded({ request: { allocationUnitBytes } }: ModelOptions): ModelOptions {
  return { request: { allocationUnitBytes }, data: undefined };
}

/** Returns the trace in allocation units that were asked for; it keeps its own if none were. */
export function inUnits(trace: Trace, { request: { allocationUnitBytes } }: ModelOptions): Trace {
  return allocationUnitBytes === undefined ? trace : trace.withHeader({ ...trace.header, allocationUnitBytes });
}

/** What has run has run: an option that would have changed the run is a mistake, not a wish to be passed over. */
function refuseToChange({ name }: ModelSource, { request, data }: ModelOptions): void {
  const changing = ["batch", "loss", "optimizer", "size", "grouping", "steps"] as const;
  const field = changing.find((each) => request[each] !== undefined);
  const option = field === undefined ? data && "data" : optionOfField[field];
  if (option !== undefined)
    throw new UsageError(
      `--${option} cannot change ${name}, which is a recorded run. Leave it out, or name the model itself.`,
    );
}

async function readRecorded({ kind, path, name }: ModelSource, progress: Pick<Progress, "show">): Promise<Trace> {
  if (kind === "pytorch") return (await import("@remat/pytorch")).readPyTorchTrace(parseJson(path));
  return readTrace(createReadStream(path, { highWaterMark: 1 << 20 }), {
    name: path,
    onProgress: (bytes) => progress.show(`reading ${name}: ${(bytes / 1e6).toFixed(0)} MB`),
  });
}

async function traceModel(
  source: ModelSource & { kind: "keras" | "module" } & ModelOptions,
  progress: Pick<Progress, "show">,
): Promise<Trace> {
  const { name, request } = source;
  const { traceFakeStep } = await import("@remat/tracer");
  const model = await loadModel(source);
  progress.show(`tracing ${name}`, true);
  return traceFakeStep(model, {
    ...request,
    name,
    onProgress: (module) => progress.show(`tracing ${name}: ${module}`),
  });
}
