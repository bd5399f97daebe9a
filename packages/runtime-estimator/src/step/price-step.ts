import type { DeviceSpec, Trace } from "@remat/trace";
import type { BenchmarkProgress } from "../benchmark/index.js";
import { type CostOptions, type EstimateMode, priceTrace } from "../index.js";

/** Options of `priceStep`. `asPytorch` does not change measured times. */
export interface PriceStepOptions extends CostOptions {
  /** Device of the roofline model. In benchmark mode, the model is used for calls that cannot run. */
  readonly device: DeviceSpec;
  /** Called during a benchmark. */
  readonly onProgress?: (progress: BenchmarkProgress) => void;
}

/**
 * Adds the time of each op to a trace. `operator-level-cost-model` uses the roofline model of `device`, and
 * `operator-level-benchmark` runs each distinct call on the current backend.
 *
 * @example
 * const priced = await priceStep(trace, "operator-level-cost-model", { device: deviceSpec("a100") });
 */
export async function priceStep(trace: Trace, mode: EstimateMode, options: PriceStepOptions): Promise<Trace> {
  if (mode === "operator-level-cost-model") return priceTrace(trace, options.device, options);
  const { benchmarkTrace } = await import("../benchmark/index.js");
  return (await benchmarkTrace(trace, options)).trace;
}
