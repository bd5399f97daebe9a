import { createReadStream, readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { RematError, readTrace, type Trace } from "@remat/trace";
import { importModel } from "./import-model.js";
import type { ModelOptions } from "./model-options.js";
import type { ModelSource } from "./model-source.js";
import type { Progress } from "./progress.js";
import { UsageError } from "./usage-error.js";

/** The trace that MODEL names, or one of a training step of the model that it names. */
export async function loadTrace(
  source: ModelSource,
  options: ModelOptions,
  progress: Pick<Progress, "show">,
): Promise<Trace> {
  if (source.kind === "trace" || source.kind === "pytorch") refuseModelOptions(source, options);
  switch (source.kind) {
    case "trace":
      return readTrace(createReadStream(source.path, { highWaterMark: 1 << 20 }), {
        name: source.path,
        onProgress: (bytes) => progress.show(`reading ${source.name}: ${(bytes / 1e6).toFixed(0)} MB`),
      });
    case "pytorch":
      return (await import("@remat/pytorch")).readPyTorchTrace(parseJson(source.path));
    case "graph":
      throw new RematError(
        "MODEL_GRAPH",
        `${source.path}: a graph file, which holds neither a model nor a run. Only remat plan reads these; name a model or a trace.`,
      );
    default:
      return traceModel(source, options, progress);
  }
}

/** What has run has run: an option that would have changed the run is a mistake, not a wish to be passed over. */
function refuseModelOptions({ name }: ModelSource, options: ModelOptions): void {
  for (const option of ["batch", "loss", "optimizer"] as const)
    if (options[option] !== undefined)
      throw new UsageError(
        `--${option} cannot change ${name}, which is a recorded run. Leave it out, or name the model itself.`,
      );
}

async function traceModel(
  source: ModelSource & { kind: "keras" | "module" },
  options: ModelOptions,
  progress: Pick<Progress, "show">,
): Promise<Trace> {
  const { traceFakeStep } = await import("@remat/tracer");
  const { size, batch, backend, grouping, loss, optimizer, steps, stepsBefore } = options;
  const load = source.kind === "keras" ? kerasModel(source.path) : importModel(source.path);
  progress.show(`tracing ${source.name}`, true);
  return traceFakeStep(await load, {
    name: source.name,
    size,
    batch,
    backend: backend ?? "tensorflow",
    grouping,
    ...(loss !== undefined && { loss }),
    ...(optimizer !== undefined && { optimizer }),
    ...(steps !== undefined && { steps }),
    ...(stepsBefore !== undefined && { stepsBefore }),
    onProgress: (module) => progress.show(`tracing ${source.name}: ${module}`),
  });
}

/** A factory, so that the model is built where its weights need no memory. */
async function kerasModel(path: string): Promise<unknown> {
  const { loadKerasModel } = await import("@remat/keras-loader");
  const json = parseJson(path);
  return () => {
    try {
      return loadKerasModel(json as object);
    } catch (cause) {
      throw cause instanceof RematError ? new RematError(cause.code, `${path}: ${cause.message}`, { cause }) : cause;
    }
  };
}

function parseJson(path: string): unknown {
  const bytes = readFileSync(path);
  try {
    return JSON.parse((path.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8"));
  } catch (cause) {
    throw new RematError(
      "MODEL_JSON",
      `${path}: not JSON (${(cause as Error).message}). Expected a file as tfjs-layers or Keras writes it.`,
      { cause },
    );
  }
}
