import { priceTrace } from "@remat/runtime-estimator";
import { type DeviceSpec, RuntimeSource, type Trace } from "@remat/trace";
import { loadTrace } from "./load-trace.js";
import type { ModelOptions } from "./model-options.js";
import type { ModelSource } from "./model-source.js";
import type { Progress } from "./progress.js";

export const estimateModes = ["operator-level-cost-model", "operator-level-benchmark"] as const;

/** A trace whose ops have runtimes, and what these are for. */
export interface PricedModel {
  readonly trace: Trace;
  readonly pricedFor: string;
}

/** The trace of MODEL with each op's time on `device` by its roofline; where `keepMeasured`, times that the trace brings stay. */
export async function priceModel(
  source: ModelSource,
  options: ModelOptions,
  device: DeviceSpec,
  progress: Progress,
  { keepMeasured = false }: { readonly keepMeasured?: boolean } = {},
): Promise<PricedModel> {
  const trace = await loadTrace(source, options, progress);
  if (keepMeasured && trace.ops.runtimeSource.includes(RuntimeSource.measured))
    return { trace, pricedFor: "what was measured" };
  const { header } = trace;
  // A tfjs trace of fake mode is meant for `device`, whose allocator rounds up in its own way; one that was recorded stays what it is.
  const meant = header.framework === "tfjs" && header.mode === "fake";
  return {
    trace: priceTrace(
      meant ? trace.withHeader({ ...header, allocationUnitBytes: device.allocationUnitBytes }) : trace,
      device,
    ),
    pricedFor: device.name,
  };
}

/** Times the ops on a real backend, and has the trace made for that backend. */
export async function measureModel(
  source: ModelSource,
  options: ModelOptions,
  progress: Progress,
): Promise<PricedModel> {
  const [{ useBackend }, { benchmarkTrace }] = await Promise.all([
    import("./use-backend.js"),
    import("@remat/runtime-estimator/benchmark"),
  ]);
  const { backend, note } = await useBackend(options.backend);
  const trace = await loadTrace(source, { ...options, backend }, progress);
  const { trace: measured } = await benchmarkTrace(trace, {
    onProgress: ({ doneCalls, totalCalls, kernel }) => progress.show(`timing ${doneCalls}/${totalCalls}: ${kernel}`),
  });
  return {
    trace: measured.withHeader({ ...measured.header, notes: [...(measured.header.notes ?? []), note] }),
    pricedFor: "this machine, measured",
  };
}
