import { summarizeExtrapolation } from "@remat/reporting";
import { extrapolationDocument } from "@remat/reporting/documents";
import { deviceToFit } from "@remat/reporting/verdict";
import { shell } from "@remat/trace/emit";
import type { Command, CommandOptions } from "../command.js";
import type { ConsoleIo } from "../console-io.js";
import { formatOption, parseFormat, parseUnits, rowsToList, shapeOf, unitsOption } from "../format-option.js";
import { loadTrace } from "../load-trace.js";
import { parseModelOptions } from "../model-options.js";
import { isOf, modelSource } from "../model-source.js";
import { parseBudgetOption } from "../plan/plan-options.js";
import { deviceOption, parsePricing } from "../pricing-options.js";
import { Progress } from "../progress.js";
import { parseCount, parseText, quote, UsageError } from "../usage-error.js";

/** `remat extrapolate`. */
export const extrapolateCommand: Command = {
  options: [
    {
      flags: "--at <sizes>",
      access: "data",
      purpose: "Sizes to tell of: 4096,8192 (default: 2, 4 and 8 times that of the largest run)",
    },
    {
      flags: "--sizes <sizes>",
      access: "data",
      purpose: "Those of the runs, in their order (default: the first side of a tensor that is another one in each)",
    },
    {
      flags: "--budget <size>",
      access: "data",
      purpose: "What the step has to fit, such as 20GiB (default: the device's memory)",
    },
    {
      ...deviceOption,
      purpose: "Device whose memory the step has to fit: a name (a100, …) or a JSON file with your own (default: a100)",
    },
    {
      flags: "--top <n>",
      access: "data",
      purpose: "How many of the largest storages to list (default: 10; as csv all)",
    },
    formatOption,
    unitsOption,
  ],
  examples: [
    "remat extrapolate run-512.json run-1024.json run-2048.json --device h100",
    "remat extrapolate batch-8.json.gz batch-16.json.gz --at 32,64 --budget 24GiB",
  ],
  takes: ["run"],
  run: (runs, options, io) => extrapolate(runs, options, io),
};

/** Tells (`remat extrapolate RUN RUN RUN`) what a step would hold at another length or batch than it was recorded at, and the largest that fits. */
export async function extrapolate(paths: readonly string[], options: CommandOptions, io: ConsoleIo): Promise<void> {
  const format = parseFormat(options);
  const units = parseUnits(options);
  const limit = rowsToList(options, format);
  const at = options["at"] === undefined ? undefined : parseSizes("at", options["at"]);
  const sizes = options["sizes"] === undefined ? undefined : parseSizes("sizes", options["sizes"]);
  const budget = options["budget"] === undefined ? undefined : parseMemory(options["budget"]);
  const pricing = parsePricing(options);
  const progress = new Progress(io);
  try {
    const runs = [];
    for (const path of paths) {
      const source = modelSource(path);
      if (!isOf(source, "run"))
        throw new UsageError(
          `${quote(path)} is no recorded run. A model can be asked itself: ${shell`remat estimate ${shell.path(path)} --batch 16`}, whose first line tells the largest batch that fits. For other lengths record its step at three: ${shell`remat memory ${shell.path(path)} --trace run-512.remat.jsonl`}, and so on.`,
        );
      runs.push({ name: path, trace: await loadTrace(source, parseModelOptions({}), progress) });
    }
    progress.show("comparing runs", true);
    const recorded = runs[0]?.trace;
    const device = recorded && deviceToFit(recorded, pricing.device, pricing.isAsked);
    const memoryBytes = budget ?? device?.memoryBytes;
    const summary = summarizeExtrapolation(runs, {
      limit,
      ...(at !== undefined && { at }),
      ...(sizes !== undefined && { sizes }),
      ...(memoryBytes !== undefined && { memoryBytes }),
    });
    progress.clear();
    const document = extrapolationDocument(summary, {
      units,
      ...(budget === undefined && device !== undefined && { device: device.name }),
    });
    io.stdout.write(format.write(document, shapeOf(io)));
  } finally {
    progress.clear();
  }
}

function parseMemory(value: unknown): number {
  const budget = parseBudgetOption(value);
  if ("bytes" in budget) return budget.bytes;
  throw new UsageError(
    `--budget expects a size here, such as 20GiB, found ${quote(value)}: there is no step to take a share of.`,
  );
}

function parseSizes(name: string, value: unknown): readonly number[] {
  return parseText(name, value)
    .split(",")
    .map((size) => parseCount(name, size.trim()));
}
