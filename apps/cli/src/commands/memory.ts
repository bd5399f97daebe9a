import type { MomentPlace } from "@remat/memory";
import { type AllocatorSettings, parseAllocatorSettings } from "@remat/memory/reserved";
import { summarizeGraphs, summarizeMemory, summarizeRegions } from "@remat/reporting";
import { graphsDocument, memoryDocument, regionsDocument } from "@remat/reporting/documents";
import { unitsDocument } from "@remat/reporting/sharding";
import { deviceToFit } from "@remat/reporting/verdict";
import { fullyShardCode, simulateFsdp } from "@remat/sharding";
import { summarizeUnits } from "@remat/sharding/compare";
import { RematError, type Trace } from "@remat/trace";
import type { Command, CommandOptions } from "../command.js";
import type { ConsoleIo } from "../console-io.js";
import { parseFormat, parseUnits, rowsToList, shapeOf } from "../format-option.js";
import { parseModelOptions, predictOption, printOptions, recordOptions, stepOptions } from "../model-options.js";
import { importerOf, isOf, modelSource } from "../model-source.js";
import { shownBeside, writeFor } from "../output.js";
import { priceModel } from "../price-model.js";
import { parsePricing, pricingOptions } from "../pricing-options.js";
import { Progress } from "../progress.js";
import { parseSharding } from "../sharding-option.js";
import { predictedUpdateOption } from "../update-in-backward-option.js";
import { parseCount, parseText, quote, UsageError } from "../usage-error.js";
import { giveVerdict } from "../verdict/give-verdict.js";
import { judgeRank } from "../verdict/judge-rank.js";
import { withVerdictFirst } from "../verdict/show-verdict.js";
import { writeTraceFile } from "../write-trace-file.js";

/** `remat memory`. */
export const memoryCommand: Command = {
  options: [
    ...stepOptions,
    ...recordOptions,
    predictOption,
    predictedUpdateOption,
    ...pricingOptions,
    ...printOptions,
    {
      flags: "--fsdp <plan>",
      access: "name or file",
      purpose: "Predict one rank of many: world=8,wrap='layers.*',reshard,bf16,offload, or a JSON file",
    },
    {
      flags: "--fsdp-code <file>",
      access: "output",
      purpose: "Also write that plan as Python: calls of fully_shard",
      writes: "text",
    },
    {
      flags: "--reserved <settings>",
      access: "data",
      purpose: "Also what PyTorch's CUDA allocator reserves: default, or as PYTORCH_CUDA_ALLOC_CONF says it",
    },
    {
      flags: "--snapshot <file>",
      access: "file",
      reads: true,
      purpose: "Beside it what that allocator held: a file of python -m remat snapshot",
    },
    {
      flags: "--at <moment>",
      access: "data",
      purpose: "Which moment to explain: peak, op:N, event:N or mark:NAME",
      default: "peak",
    },
    {
      flags: "--top <n>",
      access: "data",
      purpose: "How many of the largest storages to list (default: 10; as csv all)",
    },
    { flags: "--depth <n>", access: "data", purpose: "Show modules of up to this many name components", default: 2 },
    {
      flags: "--regions",
      access: "data",
      purpose: "Of a recorded run: why checkpointing does not release more, region by region",
    },
    { flags: "--gathered", access: "data", purpose: "With --fsdp: which unit holds gathered parameters, and when" },
    { flags: "--snapshots", access: "data", purpose: "Show every module's snapshots by state, as PyTorch prints them" },
  ],
  examples: [
    "remat memory model.json --batch 8 --optimizer adam",
    "remat memory run.json.gz --regions",
    "remat memory ./my-model.js --optimizer adam --fsdp world=8,wrap='layers.*',bf16",
  ],
  takes: ["model", "run", "compiled"],
  run: ([model], options, io) => memory(model, options, io),
};

/** Shows (`remat memory MODEL`) what is held at the peak or another moment, on one device or on a rank of many. */
export async function memory(model: string, options: CommandOptions, io: ConsoleIo): Promise<void> {
  const format = parseFormat(options);
  const depth = parseCount("depth", options["depth"]);
  const limit = rowsToList(options, format);
  const units = parseUnits(options);
  const at = parseMoment(parseText("at", options["at"]));
  const sharding = options["fsdp"] === undefined ? undefined : parseSharding(options["fsdp"]);
  const allocator =
    options["reserved"] === undefined ? undefined : parseReserved(parseText("reserved", options["reserved"]));
  const snapshotPath = options["snapshot"] === undefined ? undefined : parseText("snapshot", options["snapshot"]);
  const tracePath = options["trace"] === undefined ? undefined : parseText("trace", options["trace"]);
  const modelOptions = parseModelOptions(options);
  const codePath = options["fsdpCode"] === undefined ? undefined : parseText("fsdp-code", options["fsdpCode"]);
  if (codePath !== undefined && sharding === undefined)
    throw new UsageError("--fsdp-code writes the plan of --fsdp, and none is given. Add one, such as --fsdp world=8.");
  if (options["gathered"] === true && sharding === undefined)
    throw new UsageError("--gathered tells of the plan of --fsdp, and none is given. Add one, such as --fsdp world=8.");
  const shown = shownBeside(io, { "--trace": tracePath, "--fsdp-code": codePath });
  const pricing = parsePricing(options);
  const progress = new Progress(io);
  try {
    const source = modelSource(model);
    if (isOf(source, "compiled")) {
      const summary = summarizeGraphs(await importerOf(source).read(source.path));
      shown.write(format.write(graphsDocument(summary, units), shapeOf(io)));
      return;
    }
    const { trace } = await priceModel(source, modelOptions, pricing, progress, { damaged: "keep" });
    if (tracePath !== undefined) await writeTraceFile(trace, tracePath, io);
    if (codePath !== undefined && sharding !== undefined)
      await writeFor("--fsdp-code", codePath, fullyShardCode(trace, sharding), io);
    if (options["regions"] === true) {
      const document = regionsDocument(summarizeRegions(trace), { units, ...(limit !== undefined && { limit }) });
      progress.clear();
      shown.write(format.write(document, shapeOf(io)));
      return;
    }
    if (options["gathered"] === true && sharding !== undefined) {
      const document = unitsDocument(summarizeUnits(trace, sharding), { units });
      progress.clear();
      shown.write(format.write(document, shapeOf(io)));
      return;
    }
    const summary = summarizeMemory(trace, {
      at,
      limit,
      // An allocator knows of no passes.
      forwardOnly: trace.header.step?.predict === true || trace.header.allocator !== undefined,
      ...(allocator && { allocator }),
      ...(snapshotPath !== undefined && { snapshot: await readSnapshot(snapshotPath) }),
      simulation: sharding && simulateFsdp(trace, sharding),
    });
    const document = memoryDocument(summary, {
      units,
      depth,
      snapshots: options["snapshots"] === true,
    });
    const given = { target: model, source, options };
    const verdict =
      sharding === undefined
        ? await giveVerdict(trace, { ...given, pricing }, progress)
        : judgeRank(trace, summary.trace, {
            ...given,
            device: deviceToFit(trace, pricing.device, pricing.isAsked),
            sharding,
          });
    progress.clear();
    shown.write(withVerdictFirst(document, verdict, format, io));
  } finally {
    progress.clear();
  }
}

function parseReserved(text: string): AllocatorSettings {
  try {
    return parseAllocatorSettings(text);
  } catch (error) {
    throw error instanceof RematError ? new UsageError(`--reserved: ${error.message}`) : error;
  }
}

async function readSnapshot(path: string): Promise<Trace> {
  const source = modelSource(path);
  const trace = isOf(source, "run") ? await importerOf(source).read(source.path, {}) : undefined;
  if (trace?.header.allocator === undefined)
    throw new UsageError(
      `--snapshot ${quote(path)}: expected what PyTorch's CUDA allocator held, as python -m remat snapshot writes it.`,
    );
  return trace;
}

function parseMoment(text: string): "peak" | MomentPlace {
  if (text === "peak") return "peak";
  const [kind, value = ""] = text.split(/:(.*)/s);
  if (kind === "op" && /^\d+$/.test(value)) return { op: Number(value) };
  if (kind === "event" && /^\d+$/.test(value)) return { event: Number(value) };
  if (kind === "mark" && value !== "") return { mark: value };
  throw new UsageError(`--at expects peak, op:N, event:N or mark:NAME, found ${quote(text)}.`);
}
