import { compareShardings, deviceToFit, type NamedSharding, shardingsDocument } from "@remat/reporting";
import type { Command, CommandOptions } from "../command.js";
import type { ConsoleIo } from "../console-io.js";
import { parseFormat, parseUnits, shapeOf } from "../format-option.js";
import { parseModelOptions, printOptions, recordOptions, stepOptions } from "../model-options.js";
import { modelSource } from "../model-source.js";
import { shownBeside } from "../output.js";
import { priceModel } from "../price-model.js";
import { parsePricing, pricingOptions } from "../pricing-options.js";
import { Progress } from "../progress.js";
import { parseSharding } from "../sharding-option.js";
import { parseText, UsageError } from "../usage-error.js";
import { writeTraceFile } from "../write-trace-file.js";

/** `remat compare`. */
export const compareCommand: Command = {
  options: [
    {
      flags: "--fsdp <plan>",
      purpose: "How a rank of many would be sharded, for each row: world=8,wrap='layers.*',no-reshard, or a JSON file",
    },
    ...stepOptions,
    ...recordOptions,
    ...pricingOptions,
    ...printOptions,
  ],
  examples: [
    "remat compare run.json --fsdp world=8 --fsdp world=8,no-reshard --fsdp world=8,bf16",
    "remat compare ./my-model.js --optimizer adam --device a100 --fsdp world=4 --fsdp world=64,replicas=16",
  ],
  takes: ["model", "run"],
  run: ([model], options, io) => compare(model, options, io),
};

/** Compares (`remat compare MODEL`) what a rank holds and receives under several sharding plans. */
export async function compare(model: string, options: CommandOptions, io: ConsoleIo): Promise<void> {
  const format = parseFormat(options);
  const units = parseUnits(options);
  const shardings = parseShardings(options["fsdp"]);
  const tracePath = options["trace"] === undefined ? undefined : parseText("trace", options["trace"]);
  const shown = shownBeside(io, { "--trace": tracePath });
  const modelOptions = parseModelOptions(options);
  const pricing = parsePricing(options);
  const progress = new Progress(io);
  try {
    const { trace } = await priceModel(modelSource(model), modelOptions, pricing, progress);
    if (tracePath !== undefined) await writeTraceFile(trace, tracePath, io);
    progress.show(`sharding ${trace.header.model ?? model}`, true);
    const { memoryBytes } = deviceToFit(trace, pricing.device, pricing.isAsked);
    const comparison = compareShardings(trace, shardings, memoryBytes);
    progress.clear();
    shown.write(format.write(shardingsDocument(comparison, { units }), shapeOf(io)));
  } finally {
    progress.clear();
  }
}

function parseShardings(given: unknown): readonly NamedSharding[] {
  if (given === undefined)
    throw new UsageError(
      "expected at least one sharding plan: --fsdp world=8 --fsdp world=8,no-reshard; one rank by itself is what remat memory --fsdp shows.",
    );
  return [given].flat().map((each) => ({ name: String(each), plan: parseSharding(each) }));
}
