import { existsSync } from "node:fs";
import { Worker } from "node:worker_threads";
import type { Verdict } from "@remat/reporting/verdict";
import { priceTrace } from "@remat/runtime-estimator";
import type { Trace } from "@remat/trace";
import type { Progress } from "../progress.js";
import { type GivenVerdict, giveVerdict } from "../verdict/give-verdict.js";

/** An opened step, with intermediate results. */
export interface OpenedStep {
  readonly trace: Trace;
  /** See `ShownStep`. */
  readonly planned?: Trace | undefined;
  readonly earlyReleasePeakBytes?: number | undefined;
}

/** The command line that opened it. */
export type TypedTarget = Pick<GivenVerdict, "target" | "source" | "typedOptions" | "step" | "units" | "pricing">;

/** Judges an opened step as `remat memory` does. */
export async function judgeOpened(
  { trace, planned, earlyReleasePeakBytes }: OpenedStep,
  typed: TypedTarget,
  progress: Pick<Progress, "show">,
): Promise<Verdict | undefined> {
  const { device } = typed.pricing;
  return giveVerdict(
    withTimes(trace, device),
    {
      ...typed,
      planned: planned && withTimes(planned, device),
      ...(earlyReleasePeakBytes !== undefined && { earlyReleasePeakBytes }),
    },
    progress,
  );
}

/** Planning, one of the ways to fit, needs op times. */
function withTimes(trace: Trace, device: TypedTarget["pricing"]["device"]): Trace {
  return trace.ops.runtimeMs.some((ms) => ms > 0) ? trace : priceTrace(trace, device);
}

/** Input of the thread. */
export interface JudgingRequest {
  readonly step: { readonly [Part in keyof OpenedStep]: unknown };
  readonly typed: TypedTarget;
}

/** Does not exist when running from sources. */
const workerFile = new URL("./judge-worker.js", import.meta.url);

/**
 * Does the same as {@link judgeOpened} in a worker thread. Aborting `signal` ends the thread. Searching for ways to fit takes seconds, and
 * trying smaller batches runs the model's code.
 */
export function judgeInThread(
  { trace, planned, earlyReleasePeakBytes }: OpenedStep,
  typed: TypedTarget,
  signal: AbortSignal,
): Promise<Verdict | undefined> {
  if (!existsSync(workerFile)) return judgeOpened({ trace, planned, earlyReleasePeakBytes }, typed, { show() {} });
  const step = { trace: { ...trace }, planned: planned && { ...planned }, earlyReleasePeakBytes };
  return new Promise((resolve, reject) => {
    const worker = new Worker(workerFile, {
      workerData: { step, typed } satisfies JudgingRequest,
      stdout: true,
      stderr: true,
    });
    worker.unref();
    signal.addEventListener("abort", () => void worker.terminate(), { once: true });
    worker.on("message", (verdict: Verdict | undefined) => {
      resolve(verdict);
      void worker.terminate();
    });
    worker.on("error", reject).on("exit", () => resolve(undefined));
  });
}
