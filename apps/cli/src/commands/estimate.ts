import { heldPeak } from "@remat/memory";
import { summarizeSac } from "@remat/reporting";
import { predictionDocument, sacDocument } from "@remat/reporting/documents";
import type { Command, CommandOptions } from "../command.js";
import type { ConsoleIo } from "../console-io.js";
import { parseFormat, parseUnits } from "../format-option.js";
import { parseModelOptions, predictOption, printOptions, recordOptions, stepOptions } from "../model-options.js";
import { modelSource } from "../model-source.js";
import { shownBeside } from "../output.js";
import { priceModel, type TakeStep } from "../price-model.js";
import { parsePricing, pricingOptions } from "../pricing-options.js";
import { Progress } from "../progress.js";
import { predictedUpdateOption } from "../update-in-backward-option.js";
import { parseCount, parseText } from "../usage-error.js";
import { giveVerdict } from "../verdict/give-verdict.js";
import { withVerdictFirst } from "../verdict/show-verdict.js";
import { writeTraceFile } from "../write-trace-file.js";

/** `remat estimate`. */
export const estimateCommand: Command = {
  options: [
    ...stepOptions,
    ...recordOptions,
    predictOption,
    predictedUpdateOption,
    ...pricingOptions,
    ...printOptions,
    { flags: "--depth <n>", access: "data", purpose: "Show modules of up to this many name components", default: 2 },
    { flags: "--module <fqn>", access: "data", purpose: "Show only this module, at any depth, with all its ops" },
    {
      flags: "--ops",
      access: "data",
      purpose: "Show the op and trade-off tables of every module, as PyTorch prints them",
    },
    { flags: "--fit", access: "data", purpose: "Show the pieces that are fitted to each module's trade-off curve" },
    { flags: "--segments <n>", access: "data", purpose: "Pieces to fit to each trade-off curve", default: 2 },
    { flags: "--top <n>", access: "data", purpose: "How many modules to list, those that hold most (default: all)" },
    {
      flags: "--as-pytorch",
      access: "data",
      purpose: "Count and refuse as PyTorch's SACEstimator does: in-place random ops twice, no in-place op on a clone",
    },
    {
      flags: "--graphs <folder>",
      access: "output",
      purpose: "Also draw each module's trade-off there, as SVG and PNG",
    },
  ],
  examples: [
    "remat estimate model.json --batch 8 --device a100",
    "remat estimate model.json --predict --batch 8 --device t4",
    "remat estimate ./my-model.js --module Transformer.layers.0",
    "remat estimate run.remat.jsonl.gz --device h100 --format json",
  ],
  takes: ["model", "run"],
  run: ([model], options, io) => estimate(model, options, io),
};

/** Shows what a step holds, and what it would cost to hold less of each module (`remat estimate MODEL`). */
export async function estimate(model: string, options: CommandOptions, io: ConsoleIo): Promise<void> {
  const format = parseFormat(options);
  const depth = parseCount("depth", options["depth"]);
  const nSegments = parseCount("segments", options["segments"]);
  const module = options["module"] === undefined ? undefined : parseText("module", options["module"]);
  const tracePath = options["trace"] === undefined ? undefined : parseText("trace", options["trace"]);
  const graphs = options["graphs"] === undefined ? undefined : parseText("graphs", options["graphs"]);
  const modelOptions = parseModelOptions(options);
  const shown = shownBeside(io, { "--trace": tracePath });
  const pricing = parsePricing(options);
  const progress = new Progress(io);
  try {
    const { SACEstimator, saveTradeoffGraphs } = await import("@remat/sac-core/estimator");
    const asPytorch = options["asPytorch"] === true;
    const estimates = new SACEstimator({ device: pricing.device, asPytorch });
    const takeStep: TakeStep = async (...step) => (await estimates.estimateStep(...step)).trace!;
    const source = modelSource(model);
    const isPrediction = modelOptions.request.predict === true;
    const priced = await priceModel(source, modelOptions, pricing, progress, {
      damaged: "keep",
      ...(!isPrediction && { takeStep }),
    });
    const { trace, pricedFor } = priced;
    const top = options["top"] === undefined ? {} : { limit: parseCount("top", options["top"]) };
    if (trace.header.step?.predict === true) {
      if (tracePath !== undefined) await writeTraceFile(trace, tracePath, io);
      const verdict = await giveVerdict(trace, { target: model, source, options, pricing }, progress);
      progress.clear();
      const summary = { trace, peak: heldPeak(trace), pricedFor };
      const document = predictionDocument(summary, { units: parseUnits(options), ...top });
      shown.write(withVerdictFirst(document, verdict, format, io));
      return;
    }
    if (estimates.trace === undefined) estimates.take(trace);
    if (tracePath !== undefined) await writeTraceFile(trace, tracePath, io);
    const summary = summarizeSac(trace, {
      depth,
      nSegments,
      pricedFor,
      asPytorch,
      estimates,
      ...(module !== undefined && { module }),
    });
    if (graphs !== undefined) await saveTradeoffGraphs(summary.modules, graphs);
    const document = sacDocument(summary, {
      ops: options["ops"] === true || module !== undefined,
      fit: options["fit"] === true,
      units: parseUnits(options),
      ...top,
    });
    const verdict = await giveVerdict(trace, { target: model, source, options, pricing }, progress);
    progress.clear();
    shown.write(withVerdictFirst(document, verdict, format, io));
  } finally {
    progress.clear();
  }
}
