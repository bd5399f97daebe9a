import { parentPort, workerData } from "node:worker_threads";
import { type ErrorCode, type Plan, RematError } from "@remat/trace";
import { loadTrace } from "../load-trace.js";
import type { ModelOptions } from "../model-options.js";
import type { ModelSource } from "../model-source.js";
import { type ShownStep, stepToShow } from "../plan/step-to-show.js";
import { expectVerdict } from "../verdict/expect-verdict.js";
import { predictEarlyRelease } from "../verdict/predict-early-release.js";

/** Input of the thread. */
export interface TracingRequest {
  readonly source: ModelSource;
  readonly options: ModelOptions;
  /** True if it is compared with another run, and therefore shown unmodified. */
  readonly isComparing: boolean;
  /** A plan that is shown with it. */
  readonly plan?: Plan | undefined;
}

/** Messages of the thread. */
export type TracingReport =
  | { readonly kind: "progress"; readonly text: string }
  | {
      readonly kind: "done";
      readonly trace: unknown;
      readonly planned: unknown;
      readonly earlyReleasePeakBytes: number | undefined;
    }
  | { readonly kind: "failed"; readonly code: ErrorCode; readonly message: string };

// This file is only run by `new Worker`.
if (parentPort !== null) {
  const port = parentPort;
  const tell = (report: TracingReport): void => port.postMessage(report);
  const { source, options, isComparing, plan } = workerData as TracingRequest;
  const began = performance.now();
  let modules = 0;
  let lastMs = 0;
  const progress = {
    show(text: string): void {
      modules++;
      const now = performance.now();
      if (now - lastMs < 50) return;
      lastMs = now;
      tell({ kind: "progress", text: `${text} (${modules} module calls, ${((now - began) / 1000).toFixed(1)} s)` });
    },
  };
  try {
    const load = (each: ModelOptions) => loadTrace(source, each, progress);
    if (!isComparing && plan === undefined) expectVerdict(source, options);
    const { trace, planned }: ShownStep = isComparing
      ? { trace: await load(options) }
      : await stepToShow(source, options, { trace: load }, plan);
    const isTraining = !isComparing && trace.header.step?.predict !== true;
    const released = isTraining ? await predictEarlyRelease(trace, { source, options }, progress) : undefined;
    tell({
      kind: "done",
      trace: { ...trace },
      planned: planned && { ...planned },
      earlyReleasePeakBytes: released?.peakBytes,
    });
  } catch (error) {
    const code = error instanceof RematError ? error.code : "MODEL_FAILED";
    tell({ kind: "failed", code, message: (error as Error).message });
  }
}
