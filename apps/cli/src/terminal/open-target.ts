import { closeSync, createReadStream, openSync, readFileSync, readSync } from "node:fs";
import { resolve } from "node:path";
import { Worker } from "node:worker_threads";
import type { Opened, OpenOptions, OpenTarget } from "@remat/terminal";
import { planFormat, RematError, readPlan, readTrace, Trace, type TraceParts } from "@remat/trace";
import { inUnits, loadTrace, optionsForRecorded } from "../load-trace.js";
import type { ModelOptions } from "../model-options.js";
import { type ModelSource, modelSource } from "../model-source.js";
import type { TracingReport, TracingRequest } from "./trace-worker.js";

export interface OpenTargetOptions {
  /** Whether models are traced in a thread of their own, which can be ended. */
  readonly canStop: boolean;
  /** Whether there are several targets: what says how to take a step is then for those that are models. */
  readonly isComparing: boolean;
}

/**
 * Opens what the terminal app is given: traces are read as far as they can be, models are traced; with `canStop` in a thread of their own, so
 * that the app goes on meanwhile.
 */
export function openTarget(options: ModelOptions, { canStop, isComparing }: OpenTargetOptions): OpenTarget {
  const optionsOf = ({ kind }: ModelSource) =>
    isComparing && (kind === "trace" || kind === "pytorch") ? optionsForRecorded(options) : options;
  return async (target, { signal, onProgress }): Promise<Opened> => {
    const source = modelSource(target);
    const { name: title, path } = source;
    if (source.kind === "keras" && isPlan(path))
      return { kind: "plan", title, path, plan: readPlan(readFileSync(path, "utf8")) };
    return {
      kind: "trace",
      title,
      path,
      trace: await traceOf(source, optionsOf(source), canStop, { signal, onProgress }),
    };
  };
}

async function traceOf(
  source: ModelSource,
  options: ModelOptions,
  canStop: boolean,
  { signal, onProgress }: OpenOptions,
): Promise<Trace> {
  switch (source.kind) {
    case "trace":
      return inUnits(await readDamaged(source, { signal, onProgress }), options);
    case "keras":
    case "module":
      if (canStop) return traceInThread({ source, options }, { signal, onProgress });
      return loadTrace(source, options, { show: onProgress });
    default:
      return loadTrace(source, options, { show: onProgress });
  }
}

/** As far as it can be read. */
async function readDamaged({ path }: ModelSource, { signal, onProgress }: OpenOptions): Promise<Trace> {
  return readTrace(createReadStream(path, { highWaterMark: 1 << 20, signal }), {
    name: path,
    damaged: "keep",
    onProgress: (bytes) => onProgress(`read ${(bytes / 1e6).toFixed(0)} MB`),
  });
}

/** Tracing a model runs its code, which nobody can interrupt; a thread can be ended. */
async function traceInThread(request: TracingRequest, { signal, onProgress }: OpenOptions): Promise<Trace> {
  signal.throwIfAborted();
  // What the model's code or tfjs prints would go across the screen.
  const worker = new Worker(new URL("./trace-worker.js", import.meta.url), {
    workerData: request,
    stdout: true,
    stderr: true,
  });
  const stop = (): void => void worker.terminate();
  signal.addEventListener("abort", stop);
  try {
    return await new Promise<Trace>((resolvePromise, reject) => {
      worker.on("message", (report: TracingReport) => {
        if (report.kind === "progress") onProgress(report.text);
        else if (report.kind === "done") resolvePromise(new Trace(report.trace as TraceParts));
        else reject(new RematError(report.code, report.message));
      });
      worker.on("error", reject);
      worker.on("exit", () => reject(new RematError("TERMINAL_STOPPED", "tracing ended before it was done.")));
    });
  } finally {
    signal.removeEventListener("abort", stop);
    void worker.terminate();
  }
}

/** Tells whether a JSON file is a plan and no Keras topology: it says so in its first lines. */
export function isPlan(path: string): boolean {
  const file = openSync(resolve(path), "r");
  try {
    const head = Buffer.alloc(400);
    return head.subarray(0, readSync(file, head, 0, head.length, 0)).includes(`"${planFormat}"`);
  } finally {
    closeSync(file);
  }
}
