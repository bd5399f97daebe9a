import type { DeviceSpec, Trace } from "@remat/trace";
import type { BenchmarkProgress } from "../benchmark/index.js";
import { type EstimateMode, priceTrace } from "../index.js";

export interface PriceStepOptions {
  /** Whose roofline is meant; in benchmark mode, what calls that cannot be run are priced for. */
  readonly device: DeviceSpec;
  readonly onProgress?: (progress: BenchmarkProgress) => void;
}

/**
 * Gives each op of a trace its time: `operator-level-cost-model` by the roofline of `device`, `operator-level-benchmark` by running each
 * distinct call on the current backend.
 *
 * @example
 * const priced = await priceStep(trace, "operator-level-cost-model", { device: deviceSpec("a100") });
 */
export async function priceStep(trace: Trace, mode: EstimateMode, options: PriceStepOptions): Promise<Trace> {
  if (mode === "operator-level-cost-model") return priceTrace(trace, options.device);
  const { benchmarkTrace } = await import("../benchmark/index.js");
  return (await benchmarkTrace(trace, options)).trace;
}
