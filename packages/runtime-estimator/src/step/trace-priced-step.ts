import type { Trace } from "@remat/trace";
import type { TraceStepOptions } from "@remat/tracer";
import type { BenchmarkProgress } from "../benchmark/index.js";
import type { EstimateMode } from "../index.js";
import { type PriceStepOptions, priceStep } from "./price-step.js";

/** Options of `tracePricedStep`. */
export interface PricedStepOptions extends TraceStepOptions, Pick<PriceStepOptions, "device" | "asPytorch"> {
  /** True to run the step on the current backend. Default: false. The step then runs in fake mode, without data. */
  readonly isReal?: boolean;
  /** Called during a benchmark of ops. */
  readonly onTimed?: (progress: BenchmarkProgress) => void;
}

/**
 * Traces one training step of a model module, with the defaults of `traceFakeStep` of `@remat/tracer`, and adds the
 * time of each op as {@link priceStep} does. All commands and views of a model use this function.
 *
 * @throws RematError as `traceFakeStep` does
 * @example
 * const trace = await tracePricedStep("operator-level-cost-model", build, { device: deviceSpec("a100"), batch: 8 });
 */
export async function tracePricedStep(
  mode: EstimateMode,
  exported: unknown,
  { device, asPytorch, isReal = false, onTimed, ...request }: PricedStepOptions,
): Promise<Trace> {
  const { traceFakeStep, traceStep } = await import("@remat/tracer");
  const trace = await (isReal ? traceStep : traceFakeStep)(exported, request);
  return priceStep(trace, mode, { device, asPytorch, ...(onTimed !== undefined && { onProgress: onTimed }) });
}
