import { summarizeExtrapolation } from "@remat/reporting";
import { extrapolationDocument } from "@remat/reporting/documents";
import { deviceToFit } from "@remat/reporting/verdict";
import { shell } from "@remat/trace/emit";
import { type Command, defineCommand, type Invocation, option } from "../command.js";
import { formatOption, rowsToList, shapeOf, unitsOption } from "../format-option.js";
import { loadTrace } from "../load-trace.js";
import { modelOptionsOf } from "../model-options.js";
import { isOf, modelSource } from "../model-source.js";
import { deviceOption, pricingOf } from "../pricing-options.js";
import { Progress } from "../progress.js";
import { parseBudgetOption } from "../typed-quantities.js";
import { parseCount, parseText, quote, UsageError } from "../usage-error.js";

const options = [
  option("--at <sizes>", {
    group: "usual",
    access: "data",
    purpose: "Sizes to predict: 4096,8192 (default: 2, 4 and 8 times the largest run)",
    parse: parseSizes,
  }),
  option("--sizes <sizes>", {
    group: "usual",
    access: "data",
    purpose: "Sizes of the runs, in order (default: the first tensor dimension that differs between the runs)",
    parse: parseSizes,
  }),
  option("--budget <size>", {
    group: "usual",
    access: "data",
    purpose: "Memory the step must fit in, such as 20GiB (default: the memory of the device)",
    parse: parseMemory,
  }),
  {
    ...deviceOption,
    purpose: "Device whose memory the step must fit in: a name (a100, …) or a JSON file (default: a100)",
  },
  option("--top <n>", {
    group: "usual",
    access: "data",
    purpose: "Number of largest storages to list (default: 10, but all with --format csv)",
    parse: parseCount,
  }),
  formatOption,
  unitsOption,
];

export const extrapolateCommand: Command = defineCommand({
  options,
  examples: [
    "remat extrapolate run-512.json run-1024.json run-2048.json --device h100",
    "remat extrapolate batch-8.json.gz batch-16.json.gz --at 32,64 --budget 24GiB",
    "remat extrapolate short.json long.json --sizes 512,2048 --format csv",
  ],
  takes: ["run"],
  run: extrapolate,
});

/**
 * Predicts a step's memory at lengths or batches that were not recorded, and the largest that fits
 * (`remat extrapolate RUN RUN RUN`).
 */
async function extrapolate({ targets: paths, options: given, io }: Invocation<typeof options>): Promise<void> {
  const { format, units, top, at, sizes, budget } = given;
  const pricing = pricingOf(given);
  const progress = new Progress(io);
  try {
    const runs = [];
    for (const path of paths) {
      const source = modelSource(path);
      if (!isOf(source, "run"))
        throw new UsageError(
          `${quote(path)} is not a recorded run. For the largest batch of a model run ${shell`remat estimate ${shell.path(path)} --batch 16`}. For other lengths, record three runs, such as ${shell`remat memory ${shell.path(path)} --trace run-512.remat.jsonl`}.`,
        );
      runs.push({ name: path, trace: await loadTrace(source, modelOptionsOf({}), progress) });
    }
    progress.show("comparing runs", true);
    const recorded = runs[0]?.trace;
    const device = recorded && deviceToFit(recorded, pricing.device, pricing.isAsked);
    const memoryBytes = budget ?? device?.memoryBytes;
    const summary = summarizeExtrapolation(runs, {
      limit: rowsToList(top, format),
      at,
      sizes,
      memoryBytes,
    });
    progress.clear();
    const document = extrapolationDocument(summary, {
      units,
      device: budget === undefined ? device?.name : undefined,
    });
    io.stdout.write(format.write(document, shapeOf(io)));
  } finally {
    progress.clear();
  }
}

function parseMemory(name: string, value: unknown): number {
  const budget = parseBudgetOption(name, value);
  if ("bytes" in budget) return budget.bytes;
  throw new UsageError(
    `--${name} expects a size, such as 20GiB; found ${quote(value)}. A percentage is not supported here.`,
  );
}

function parseSizes(name: string, value: unknown): readonly number[] {
  return parseText(name, value)
    .split(",")
    .map((size) => parseCount(name, size.trim()));
}
