import { Worker } from "node:worker_threads";
import { type DeviceToFit, whereRecorded } from "@remat/reporting/verdict";
import type { Opened, OpenOptions, OpenTarget } from "@remat/terminal";
import { type Plan, RematError, Trace, type TraceParts } from "@remat/trace";
import { loadTrace, optionsForRecorded } from "../load-trace.js";
import type { ModelOptions } from "../model-options.js";
import { importerOf, isOf, type ModelSource, modelSource } from "../model-source.js";
import { stepToShow } from "../plan/step-to-show.js";
import { commandOfSubject } from "../verdict/follow-plan.js";
import { plansRanks } from "../verdict/give-verdict.js";
import { nextCommand } from "../verdict/next-command.js";
import { judgeInThread, type OpenedStep, type TypedTarget } from "./judge-opened.js";
import type { TracingReport, TracingRequest } from "./trace-worker.js";

export interface OpenTargetOptions {
  /** True if models are traced in a separate thread, which can be stopped. */
  readonly canStop: boolean;
  /** True if there are several targets. Options about the step then apply to those that are models. */
  readonly isComparing: boolean;
  /** A plan that is shown with the step. */
  readonly plan?: Plan | undefined;
  /** The command line except for the target, for the next command. Left out: no command is suggested. */
  readonly typed?: Pick<TypedTarget, "typedOptions" | "units" | "pricing"> | undefined;
}

/**
 * Opens a target of the terminal app. Traces are read as far as possible, models are traced. With `canStop` this
 * happens in a separate thread, so that the app stays responsive.
 */
export function openTarget(
  options: ModelOptions,
  { canStop, isComparing, plan, typed }: OpenTargetOptions,
): OpenTarget {
  const optionsOf = (source: ModelSource) =>
    (isComparing || plan !== undefined) && isOf(source, "run") ? optionsForRecorded(options) : options;
  return async (target, opening): Promise<Opened> => {
    const source = modelSource(target);
    const { name: title, path } = source;
    if (isOf(source, "plan")) {
      const read = importerOf(source).read(path);
      return { kind: "plan", title, path, plan: read, following: commandOfSubject(read.subject, target)?.command };
    }
    const step = await stepOf(source, optionsOf(source), { canStop, isComparing, plan }, opening);
    return {
      kind: "trace",
      ...{ title, path, trace: step.trace, isModel: isOf(source, "model") },
      ...(isComparing ? {} : { atHand: stepAtHand(step, typed && { ...typed, target, source, step: options }) }),
    };
  };
}

type AtHand = NonNullable<Extract<Opened, { readonly kind: "trace" }>["atHand"]>;

function stepAtHand(step: OpenedStep, typed: TypedTarget | undefined): AtHand {
  const { planned, earlyReleasePeakBytes, trace } = step;
  if (typed === undefined) return { planned, earlyReleasePeakBytes };
  /** The device as typed, unless another was chosen. */
  const on = ({ name, memoryBytes }: DeviceToFit): TypedTarget => {
    const { device } = typed.pricing;
    if (name === whereRecorded || name === device.name) return typed;
    const pricing = { device: { ...device, name, ...(memoryBytes !== undefined && { memoryBytes }) }, isAsked: true };
    return { ...typed, pricing, typedOptions: { ...typed.typedOptions, device: name } };
  };
  return {
    planned,
    earlyReleasePeakBytes,
    commandFor: (next, device) =>
      nextCommand({ ...on(device), plansRanks: plansRanks(trace) }, next, device.memoryBytes),
    judge: (device, signal) => judgeInThread(step, on(device), signal),
  };
}

async function stepOf(
  source: ModelSource,
  options: ModelOptions,
  { canStop, isComparing, plan }: OpenTargetOptions,
  { signal, onProgress }: OpenOptions,
): Promise<OpenedStep> {
  if (canStop && isOf(source, "model"))
    return traceInThread({ source, options, isComparing, plan }, { signal, onProgress });
  const trace = (each: ModelOptions): Promise<Trace> =>
    loadTrace(source, each, { show: onProgress }, { damaged: "keep", signal });
  return isComparing ? { trace: await trace(options) } : stepToShow(source, options, { trace }, plan);
}

/** Tracing a model runs its code, which cannot be interrupted. A thread can be ended. */
async function traceInThread(request: TracingRequest, { signal, onProgress }: OpenOptions): Promise<OpenedStep> {
  signal.throwIfAborted();
  // Output of the model's code or tfjs would disturb the screen.
  const worker = new Worker(new URL("./trace-worker.js", import.meta.url), {
    workerData: request,
    stdout: true,
    stderr: true,
  });
  const stop = (): void => void worker.terminate();
  signal.addEventListener("abort", stop);
  try {
    return await new Promise<OpenedStep>((resolvePromise, reject) => {
      worker.on("message", (report: TracingReport) => {
        if (report.kind === "progress") onProgress(report.text);
        else if (report.kind === "done")
          resolvePromise({
            trace: new Trace(report.trace as TraceParts),
            planned: report.planned === undefined ? undefined : new Trace(report.planned as TraceParts),
            earlyReleasePeakBytes: report.earlyReleasePeakBytes,
          });
        else reject(new RematError(report.code, report.message));
      });
      worker.on("error", reject);
      worker.on("exit", () =>
        reject(
          new RematError(
            "TERMINAL_STOPPED",
            "tracing ended before it returned a step: the model's code may have called process.exit(). Remove that call, and open the file again.",
          ),
        ),
      );
    });
  } finally {
    signal.removeEventListener("abort", stop);
    void worker.terminate();
  }
}
