import { heldPeak } from "@remat/memory";
import { summarizeSac } from "@remat/reporting";
import { predictionDocument, sacDocument } from "@remat/reporting/documents";
import { type Command, defineCommand, type Invocation, option } from "../command.js";
import { modelOptionsOf, predictOption, printOptions, recordOptions, stepOptions } from "../model-options.js";
import { modelSource } from "../model-source.js";
import { shownBeside } from "../output.js";
import { priceModel } from "../price-model.js";
import { pricingOf, pricingOptions } from "../pricing-options.js";
import { Progress } from "../progress.js";
import { predictedUpdateOption } from "../update-in-backward-option.js";
import { parseCount } from "../usage-error.js";
import { expectVerdict } from "../verdict/expect-verdict.js";
import { giveVerdict } from "../verdict/give-verdict.js";
import { withVerdictFirst } from "../verdict/show-verdict.js";
import { writeTraceFile } from "../write-trace-file.js";

const options = [
  ...stepOptions,
  ...recordOptions,
  predictOption,
  predictedUpdateOption,
  ...pricingOptions,
  ...printOptions,
  option("--depth <n>", {
    group: "usual",
    access: "data",
    purpose: "Depth of module names in tables",
    default: 2,
    parse: parseCount,
  }),
  option("--module <fqn>", {
    group: "usual",
    access: "data",
    purpose: "Show only this module, at any depth, with all its ops",
  }),
  option("--ops", {
    group: "rare",
    access: "data",
    purpose: "Show the op and trade-off tables of every module, in the format of PyTorch's SACEstimator",
  }),
  option("--fit", {
    group: "rare",
    access: "data",
    purpose: "Show the linear pieces fitted to the trade-off curve of each module",
  }),
  option("--segments <n>", {
    group: "rare",
    access: "data",
    purpose: "Number of pieces to fit to each trade-off curve",
    default: 2,
    parse: parseCount,
  }),
  option("--top <n>", {
    group: "usual",
    access: "data",
    purpose: "Number of modules to list, largest first (default: all)",
    parse: parseCount,
  }),
  option("--as-pytorch", {
    group: "rare",
    access: "data",
    purpose:
      "Estimate and count ops as PyTorch's RuntimeEstimator and SACEstimator do: time half of the FLOPs, count in-place random ops twice, and reject in-place ops on a clone",
  }),
  option("--graphs <folder>", {
    group: "output",
    access: "output",
    purpose: "Also draw the trade-off of each module in this folder, as SVG and PNG",
  }),
];

export const estimateCommand: Command = defineCommand({
  options,
  examples: [
    "remat estimate model.json --batch 8 --device a100",
    "remat estimate model.json --predict --batch 8 --device t4",
    "remat estimate run.remat.jsonl.gz --device h100 --format json",
  ],
  takes: ["model", "run"],
  run: estimate,
});

/** Shows a step's memory, and the cost of reducing it in each module (`remat estimate MODEL`). */
async function estimate({
  targets: [target],
  options: given,
  typedOptions,
  io,
}: Invocation<typeof options>): Promise<void> {
  const { format, units, depth, segments: nSegments, module, trace: tracePath, graphs, top: limit } = given;
  const step = modelOptionsOf(given);
  const shown = shownBeside(io, { "--trace": tracePath });
  const pricing = pricingOf(given);
  const progress = new Progress(io);
  try {
    const { SACEstimator, saveTradeoffGraphs } = await import("@remat/sac-core/estimator");
    const { asPytorch } = given;
    const estimates = new SACEstimator({ device: pricing.device, asPytorch });
    const source = modelSource(target);
    expectVerdict(source, step, given.updateInBackward);
    const { trace, pricedFor } = await priceModel(source, step, pricing, progress, { damaged: "keep", asPytorch });
    const judged = {
      ...{ target, source, step, units, pricing, typedOptions },
      updateInBackward: given.updateInBackward,
    };
    if (trace.header.step?.predict === true) {
      if (tracePath !== undefined) await writeTraceFile(trace, tracePath, io);
      const verdict = await giveVerdict(trace, judged, progress);
      progress.clear();
      const summary = { trace, peak: heldPeak(trace), pricedFor };
      const document = predictionDocument(summary, { units, limit });
      shown.write(withVerdictFirst(document, verdict, format, io));
      return;
    }
    estimates.take(trace);
    if (tracePath !== undefined) await writeTraceFile(trace, tracePath, io);
    const summary = summarizeSac(trace, {
      depth,
      nSegments,
      pricedFor,
      asPytorch,
      estimates,
      module,
    });
    if (graphs !== undefined) await saveTradeoffGraphs(summary.modules, graphs);
    const document = sacDocument(summary, {
      ops: given.ops || module !== undefined,
      fit: given.fit,
      units,
      limit,
    });
    const verdict = await giveVerdict(trace, judged, progress);
    progress.clear();
    shown.write(withVerdictFirst(document, verdict, format, io));
  } finally {
    progress.clear();
  }
}
