import { RuntimeSource, type Trace } from "@remat/trace";
import { loadTrace } from "./load-trace.js";
import type { ModelOptions } from "./model-options.js";
import { isOf, type ModelSource } from "./model-source.js";
import type { Pricing } from "./pricing-options.js";
import type { Progress } from "./progress.js";

/** A trace whose ops have runtimes, and what these are for. */
export interface PricedModel {
  readonly trace: Trace;
  readonly pricedFor: string;
}

/**
 * Returns the trace of MODEL with each op's time: by the roofline of a device, or measured on a real backend, for which the trace is then made. What
 * was measured before stays unless a device was asked for.
 */
export async function priceModel(
  source: ModelSource,
  options: ModelOptions,
  { mode, device, isAsked }: Pricing,
  progress: Progress,
): Promise<PricedModel> {
  const { request } = options;
  if (mode === "operator-level-benchmark") {
    const { useBackend } = await import("./use-backend.js");
    const { backend, note } = await useBackend(request.backend);
    // Of a recorded run the backend is only where its ops are timed.
    const step = { ...request, backend: isOf(source, "run") ? undefined : backend };
    const trace = await loadTrace(source, { ...options, request: step }, progress);
    const { priceStep } = await import("@remat/sac-estimator");
    const timed = await priceStep(trace, mode, {
      device,
      onProgress: ({ doneCalls, totalCalls, kernel }) => progress.show(`timing ${doneCalls}/${totalCalls}: ${kernel}`),
    });
    return {
      trace: timed.withHeader({ ...timed.header, notes: [...(timed.header.notes ?? []), note] }),
      pricedFor: "this machine, measured",
    };
  }
  const trace = await loadTrace(source, options, progress);
  if (!isAsked && trace.ops.runtimeSource.includes(RuntimeSource.measured))
    return { trace, pricedFor: "what was measured" };
  const { priceStep } = await import("@remat/sac-estimator");
  return { trace: await priceStep(trace, mode, { device }), pricedFor: device.name };
}
