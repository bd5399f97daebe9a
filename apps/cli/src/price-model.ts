import type { PriceStepOptions } from "@remat/runtime-estimator/step";
import { RuntimeSource, type Trace, withNotes } from "@remat/trace";
import type { ReadRunOptions } from "./importers/importer.js";
import { loadTrace } from "./load-trace.js";
import type { ModelOptions } from "./model-options.js";
import { isOf, type ModelSource } from "./model-source.js";
import type { Pricing } from "./pricing-options.js";
import type { Progress } from "./progress.js";
import { traceOnce } from "./trace-once.js";

/** A trace with op times, and the device they are for. */
export interface PricedModel {
  readonly trace: Trace;
  readonly pricedFor: string;
}

export interface PriceModelOptions {
  /**
   * How to treat a damaged trace. Commands that only show it keep the part before the damage and report that. Commands
   * that plan or check a step reject it, which is the default.
   */
  readonly damaged?: ReadRunOptions["damaged"];
  /** True to estimate times as PyTorch's `RuntimeEstimator` does. Default: false. */
  readonly asPytorch?: boolean | undefined;
}

/**
 * Returns the trace of MODEL with each op's time: estimated by the roofline of a device, or measured on a real backend,
 * on which the step is then run. Times already measured stay unless a device was requested.
 */
export async function priceModel(
  source: ModelSource,
  options: ModelOptions,
  pricing: Pricing,
  progress: Progress,
  { damaged, asPytorch }: PriceModelOptions = {},
): Promise<PricedModel> {
  const { mode, device, isAsked } = pricing;
  const isTimed = mode === "operator-level-benchmark";
  // For a recorded run, the backend only matters for timing its ops.
  const used = isTimed ? await (await import("./use-backend.js")).useBackend(options.request.backend) : undefined;
  const pricedFor = isTimed ? "this machine, measured" : device.name;
  const onProgress: PriceStepOptions["onProgress"] = ({ doneCalls, totalCalls, kernel }) =>
    progress.show(`timing ${doneCalls}/${totalCalls}: ${kernel}`);
  const { priceStep } = await import("@remat/runtime-estimator/step");
  if (isOf(source, "model")) {
    const { request, ...files } = options;
    const step = await traceOnce(
      source,
      { request: { ...request, ...(used !== undefined && { backend: used.backend }) }, ...files },
      progress,
    );
    const noted = withKnown(step, [used?.note, pricing.note, calibrationNote(step, pricing)]);
    return { trace: await priceStep(noted, mode, { device, asPytorch, onProgress }), pricedFor };
  }
  const request = isTimed ? { ...options.request, backend: undefined } : options.request;
  const trace = await loadTrace(source, { ...options, request }, progress, damaged && { damaged });
  if (!isTimed && !isAsked && trace.ops.runtimeSource.includes(RuntimeSource.measured))
    return { trace, pricedFor: "what was measured" };
  const priced = await priceStep(trace, mode, { device, asPytorch, onProgress });
  return { trace: withKnown(priced, [used?.note, pricing.note, calibrationNote(priced, pricing)]), pricedFor };
}

function withKnown(trace: Trace, notes: readonly (string | undefined)[]): Trace {
  const known = notes.filter((note) => note !== undefined);
  return known.length === 0 ? trace : withNotes(trace, known);
}

/** Returns why the calibration of a device was not used for a step, if it was not. */
function calibrationNote({ header }: Trace, { mode, device: { calibration } }: Pricing): string | undefined {
  if (mode !== "operator-level-cost-model") return undefined;
  if (calibration === undefined || calibration.backend === header.backend) return undefined;
  return `the device is calibrated for ${calibration.backend}, but the step is of ${header.backend ?? header.framework}: times are from its roofline`;
}
