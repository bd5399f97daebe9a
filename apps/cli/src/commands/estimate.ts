import { outputFormats, renderSacSummary, summarizeSac } from "@remat/reporting";
import type { CommandOptions } from "../cli.js";
import type { ConsoleIo } from "../console-io.js";
import { parseModelOptions } from "../model-options.js";
import { modelSource } from "../model-source.js";
import { estimateModes, measureModel, priceModel } from "../price-model.js";
import { Progress } from "../progress.js";
import { readDevice } from "../read-device.js";
import { parseChoice, parseCount, parseText } from "../usage-error.js";
import { writeTraceFile } from "../write-trace-file.js";

/** `remat estimate MODEL`: module-wise statistics of selective activation checkpointing. */
export async function estimate(model: string, options: CommandOptions, io: ConsoleIo): Promise<void> {
  const mode = parseChoice("mode", options["mode"], estimateModes);
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
    const { trace, pricedFor } =
      mode === "operator-level-benchmark"
        ? await measureModel(source, modelOptions, progress)
        : await priceModel(source, modelOptions, device, progress);
    progress.clear();
    if (tracePath !== undefined) await writeTraceFile(trace, tracePath);
    const summary = summarizeSac(trace, { depth, nSegments, pricedFor, ...(module !== undefined && { module }) });
    if (graphs !== undefined) await (await import("@remat/sac-estimator")).saveTradeoffGraphs(summary.modules, graphs);
    io.stdout.write(renderSacSummary(summary, format, { ops: options["ops"] === true || module !== undefined }));
  } finally {
    progress.clear();
  }
}
