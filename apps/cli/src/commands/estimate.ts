import { outputFormats, renderSacSummary, summarizeSac } from "@remat/reporting";
import { priceTrace } from "@remat/runtime-estimator";
import type { DeviceSpec, Trace } from "@remat/trace";
import type { CommandOptions } from "../cli.js";
import type { ConsoleIo } from "../console-io.js";
import { loadTrace } from "../load-trace.js";
import { type ModelOptions, parseModelOptions } from "../model-options.js";
import { type ModelSource, modelSource } from "../model-source.js";
import { Progress } from "../progress.js";
import { readDevice } from "../read-device.js";
import { parseChoice, parseCount, parseText } from "../usage-error.js";
import { writeTraceFile } from "../write-trace-file.js";

const modes = ["operator-level-cost-model", "operator-level-benchmark"] as const;

/** `remat estimate MODEL`: module-wise statistics of selective activation checkpointing. */
export async function estimate(model: string, options: CommandOptions, io: ConsoleIo): Promise<void> {
  const mode = parseChoice("mode", options["mode"], modes);
  const format = parseChoice("format", options["format"], outputFormats);
  const depth = parseCount("depth", options["depth"]);
  const nSegments = parseCount("segments", options["segments"]);
  const module = options["module"] === undefined ? undefined : parseText("module", options["module"]);
  const tracePath = options["trace"] === undefined ? undefined : parseText("trace", options["trace"]);
  const graphs = options["graphs"] === undefined ? undefined : parseText("graphs", options["graphs"]);
  const modelOptions = parseModelOptions(options);
  const device = readDevice(parseText("device", options["device"]));
  const progress = new Progress(io);
  try {
    const source = modelSource(model);
    const trace =
      mode === "operator-level-benchmark"
        ? await measure(source, modelOptions, progress)
        : await price(source, modelOptions, device, progress);
    progress.clear();
    if (tracePath !== undefined) await writeTraceFile(trace, tracePath);
    const pricedFor = mode === "operator-level-benchmark" ? "this machine, measured" : device.name;
    const summary = summarizeSac(trace, { depth, nSegments, pricedFor, ...(module !== undefined && { module }) });
    if (graphs !== undefined) await (await import("@remat/sac-estimator")).saveTradeoffGraphs(summary.modules, graphs);
    io.stdout.write(renderSacSummary(summary, format, { ops: options["ops"] === true || module !== undefined }));
  } finally {
    progress.clear();
  }
}

async function price(
  source: ModelSource,
  options: ModelOptions,
  device: DeviceSpec,
  progress: Progress,
): Promise<Trace> {
  const trace = await loadTrace(source, options, progress);
  const { header } = trace;
  // A tfjs trace of fake mode is meant for `device`, whose allocator rounds up in its own way; one that was recorded stays what it is.
  const meant = header.framework === "tfjs" && header.mode === "fake";
  return priceTrace(
    meant ? trace.withHeader({ ...header, allocationUnitBytes: device.allocationUnitBytes }) : trace,
    device,
  );
}

/** Times the ops on a real backend, and has the trace made for that backend. */
async function measure(source: ModelSource, options: ModelOptions, progress: Progress): Promise<Trace> {
  const [{ useBackend }, { benchmarkTrace }] = await Promise.all([
    import("../use-backend.js"),
    import("@remat/runtime-estimator/benchmark"),
  ]);
  const { backend, note } = await useBackend(options.backend);
  const trace = await loadTrace(source, { ...options, backend }, progress);
  const { trace: measured } = await benchmarkTrace(trace, {
    onProgress: ({ doneCalls, totalCalls, kernel }) => progress.show(`timing ${doneCalls}/${totalCalls}: ${kernel}`),
  });
  return measured.withHeader({ ...measured.header, notes: [...(measured.header.notes ?? []), note] });
}
