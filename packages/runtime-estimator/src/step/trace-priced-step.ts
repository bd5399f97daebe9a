import type { Trace } from "@remat/trace";
import type { TraceStepOptions } from "@remat/tracer";
import type { BenchmarkProgress } from "../benchmark/index.js";
import type { EstimateMode } from "../index.js";
import { type PriceStepOptions, priceStep } from "./price-step.js";

export interface PricedStepOptions extends TraceStepOptions, Pick<PriceStepOptions, "device"> {
  /** Takes the step on the current backend; left out: without data. */
  readonly isReal?: boolean;
  /** Told how far the timing of ops has come. */
  readonly onTimed?: (progress: BenchmarkProgress) => void;
}

/**
 * Traces one training step of what a model module exports, as `traceFakeStep` of `@remat/tracer` decides it, and gives each op its time, as
 * {@link priceStep} does: what every command and view shows of a model begins here.
 *
 * @throws as `traceFakeStep` does
 * @example
 * const trace = await tracePricedStep("operator-level-cost-model", build, { device: deviceSpec("a100"), batch: 8 });
 */
export async function tracePricedStep(
  mode: EstimateMode,
  exported: unknown,
  { device, isReal = false, onTimed, ...request }: PricedStepOptions,
): Promise<Trace> {
  const { traceFakeStep, traceStep } = await import("@remat/tracer");
  const trace = await (isReal ? traceStep : traceFakeStep)(exported, request);
  return priceStep(trace, mode, { device, ...(onTimed !== undefined && { onProgress: onTimed }) });
}
