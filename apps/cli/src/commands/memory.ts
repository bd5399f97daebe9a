import type { MomentPlace } from "@remat/memory";
import { type AllocatorSettings, parseAllocatorSettings } from "@remat/memory/reserved";
import { summarizeGraphs, summarizeMemory, summarizeRegions } from "@remat/reporting";
import { graphsDocument, memoryDocument, regionsDocument } from "@remat/reporting/documents";
import { unitsDocument } from "@remat/reporting/sharding";
import { deviceToFit } from "@remat/reporting/verdict";
import { fullyShardCode, simulateFsdp } from "@remat/sharding";
import { summarizeUnits } from "@remat/sharding/compare";
import { RematError, type Trace } from "@remat/trace";
import { type Command, defineCommand, type Invocation, option } from "../command.js";
import { rowsToList, shapeOf } from "../format-option.js";
import { modelOptionsOf, predictOption, printOptions, recordOptions, stepOptions } from "../model-options.js";
import { importerOf, isOf, modelSource } from "../model-source.js";
import { shownBeside, writeFor } from "../output.js";
import { priceModel } from "../price-model.js";
import { pricingOf, pricingOptions } from "../pricing-options.js";
import { Progress } from "../progress.js";
import { fsdpCodeOption, parseSharding } from "../sharding-option.js";
import { predictedUpdateOption } from "../update-in-backward-option.js";
import { parseCount, parseText, quote, UsageError } from "../usage-error.js";
import { expectVerdict } from "../verdict/expect-verdict.js";
import { giveVerdict } from "../verdict/give-verdict.js";
import type { Given } from "../verdict/next-command.js";
import { withVerdictFirst } from "../verdict/show-verdict.js";
import { writeTraceFile } from "../write-trace-file.js";

const options = [
  ...stepOptions,
  ...recordOptions,
  predictOption,
  predictedUpdateOption,
  ...pricingOptions,
  ...printOptions,
  option("--fsdp <plan>", {
    group: "usual",
    access: "name or file",
    purpose: "Predict one rank of many: world=8,wrap='layers.*',reshard,bf16,offload, or a JSON file",
    parse: parseSharding,
  }),
  fsdpCodeOption,
  option("--reserved <settings>", {
    group: "rare",
    access: "data",
    purpose:
      "Also predict the memory that PyTorch's CUDA allocator reserves. Settings are as in PYTORCH_CUDA_ALLOC_CONF, or the word default",
    parse: parseReserved,
  }),
  option("--snapshot <file>", {
    group: "rare",
    access: "file",
    reads: true,
    purpose: "Compare the prediction with a snapshot of PyTorch's CUDA allocator, written by python -m remat snapshot",
  }),
  option("--at <moment>", {
    group: "usual",
    access: "data",
    purpose: "Moment to explain: peak, op:N, event:N or mark:NAME",
    default: "peak",
    parse: parseMoment,
  }),
  option("--top <n>", {
    group: "usual",
    access: "data",
    purpose: "Number of largest storages to list (default: 10, but all with --format csv)",
    parse: parseCount,
  }),
  option("--depth <n>", {
    group: "rare",
    access: "data",
    purpose: "Depth of module names in tables",
    default: 2,
    parse: parseCount,
  }),
  option("--regions", {
    group: "usual",
    access: "data",
    purpose: "For a recorded run: show for each checkpointed region why it does not save more memory",
  }),
  option("--gathered", {
    group: "rare",
    access: "data",
    purpose: "With --fsdp: show which unit is unsharded, and when",
  }),
  option("--snapshots", {
    group: "rare",
    access: "data",
    purpose: "Print each module's memory in every state, in the format of PyTorch's MemTracker",
  }),
];

export const memoryCommand: Command = defineCommand({
  options,
  examples: [
    "remat memory model.json --batch 8 --optimizer adam",
    "remat memory run.json.gz --regions",
    "remat memory ./my-model.js --optimizer adam --fsdp world=8,wrap='layers.*',bf16",
  ],
  takes: ["model", "run", "compiled"],
  run: memory,
});

/** Shows memory at the peak or another moment, on one device or on one of many ranks (`remat memory MODEL`). */
async function memory({
  targets: [target],
  options: given,
  typedOptions,
  io,
}: Invocation<typeof options>): Promise<void> {
  const { format, depth, units, at, fsdp: sharding, reserved: allocator } = given;
  const limit = rowsToList(given.top, format);
  const { snapshot: snapshotPath, trace: tracePath, fsdpCode: codePath } = given;
  const step = modelOptionsOf(given);
  if (codePath !== undefined && sharding === undefined)
    throw new UsageError("--fsdp-code needs a sharding plan. Add one, such as --fsdp world=8.");
  if (given.gathered && sharding === undefined)
    throw new UsageError("--gathered needs a sharding plan. Add one, such as --fsdp world=8.");
  const shown = shownBeside(io, { "--trace": tracePath, "--fsdp-code": codePath });
  const pricing = pricingOf(given);
  const progress = new Progress(io);
  try {
    const source = modelSource(target);
    if (isOf(source, "compiled")) {
      const summary = summarizeGraphs(await importerOf(source).read(source.path));
      shown.write(format.write(graphsDocument(summary, units), shapeOf(io)));
      return;
    }
    if (sharding === undefined && !given.regions) expectVerdict(source, step, given.updateInBackward);
    const { trace } = await priceModel(source, step, pricing, progress, { damaged: "keep" });
    if (tracePath !== undefined) await writeTraceFile(trace, tracePath, io);
    if (codePath !== undefined && sharding !== undefined)
      await writeFor("--fsdp-code", codePath, fullyShardCode(trace, sharding.plan), io);
    if (given.regions) {
      const document = regionsDocument(summarizeRegions(trace), { units, limit });
      progress.clear();
      shown.write(format.write(document, shapeOf(io)));
      return;
    }
    if (given.gathered && sharding !== undefined) {
      const document = unitsDocument(summarizeUnits(trace, sharding.plan), { units });
      progress.clear();
      shown.write(format.write(document, shapeOf(io)));
      return;
    }
    const summary = summarizeMemory(trace, {
      at,
      limit,
      // An allocator snapshot does not record passes.
      forwardOnly: trace.header.step?.predict === true || trace.header.allocator !== undefined,
      allocator,
      snapshot: snapshotPath === undefined ? undefined : await readSnapshot(snapshotPath),
      simulation: sharding && simulateFsdp(trace, sharding.plan),
    });
    const document = memoryDocument(summary, {
      units,
      depth,
      snapshots: given.snapshots,
    });
    const judged: Given = {
      ...{ target, source, step, units, typedOptions },
      updateInBackward: given.updateInBackward,
    };
    const verdict =
      sharding === undefined
        ? await giveVerdict(trace, { ...judged, pricing }, progress)
        : (await import("../verdict/judge-rank.js")).judgeRank(trace, summary.trace, {
            ...judged,
            device: deviceToFit(trace, pricing.device, pricing.isAsked),
            sharding,
          });
    progress.clear();
    shown.write(withVerdictFirst(document, verdict, format, io));
  } finally {
    progress.clear();
  }
}

function parseReserved(name: string, value: unknown): AllocatorSettings {
  const text = parseText(name, value);
  try {
    return parseAllocatorSettings(text);
  } catch (error) {
    throw error instanceof RematError ? new UsageError(`--${name}: ${error.message}`) : error;
  }
}

async function readSnapshot(path: string): Promise<Trace> {
  const source = modelSource(path);
  const trace = isOf(source, "run") ? await importerOf(source).read(source.path, {}) : undefined;
  if (trace?.header.allocator === undefined)
    throw new UsageError(
      `--snapshot ${quote(path)}: not a snapshot of PyTorch's CUDA allocator. Write one with python -m remat snapshot.`,
    );
  return trace;
}

function parseMoment(name: string, given: unknown): "peak" | MomentPlace {
  const text = parseText(name, given);
  if (text === "peak") return "peak";
  const [kind, value = ""] = text.split(/:(.*)/s);
  if (kind === "op" && /^\d+$/.test(value)) return { op: Number(value) };
  if (kind === "event" && /^\d+$/.test(value)) return { event: Number(value) };
  if (kind === "mark" && value !== "") return { mark: value };
  throw new UsageError(`--${name} expects peak, op:N, event:N or mark:NAME; found ${quote(text)}.`);
}
