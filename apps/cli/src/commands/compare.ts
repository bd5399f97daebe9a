import { planOfCheckpoints, policiesOfRules } from "@remat/planner";
import { planningGraphOfTrace } from "@remat/planner/graph";
import { shardingsDocument } from "@remat/reporting/sharding";
import { deviceToFit } from "@remat/reporting/verdict";
import { compareShardings, type NamedSharding } from "@remat/sharding/compare";
import type { Trace } from "@remat/trace";
import { type Command, defineCommand, type Invocation, type OptionValues, option } from "../command.js";
import { shapeOf } from "../format-option.js";
import { modelOptionsOf, printOptions, recordOptions, stepOptions } from "../model-options.js";
import { modelSource } from "../model-source.js";
import { shownBeside } from "../output.js";
import { priceModel } from "../price-model.js";
import { pricingOf, pricingOptions } from "../pricing-options.js";
import { Progress } from "../progress.js";
import { networkOf, parseCheckpointed, parseSharding } from "../sharding-option.js";
import { UsageError } from "../usage-error.js";
import { writeTraceFile } from "../write-trace-file.js";

const options = [
  option("--fsdp <plan>", {
    group: "usual",
    access: "name or file",
    purpose:
      "Sharding plan of one row: world=8,wrap='layers.*',no-reshard, or a JSON file. Repeat the option for more rows",
    parse: (name, value) => [value].flat().map((each) => parseSharding(name, each)),
  }),
  option("--checkpoint <modules>", {
    group: "usual",
    parse: (name, value) =>
      [value].flat().map((each) => ({ name: `checkpoint=${String(each)}`, checkpoint: parseCheckpointed(name, each) })),
    access: "name or file",
    purpose:
      "Checkpointing of one row, on one device: layers.*, layers.*(save=mm+addmm), or a JSON file. Repeat the option for more rows",
  }),
  option("--network <speeds>", {
    group: "usual",
    access: "data",
    purpose:
      "Network between ranks: per-node=8,node=450,between=50,latency=5 for devices per node, GB/s within and between nodes, and µs (default: set by the device)",
  }),
  ...stepOptions,
  ...recordOptions,
  ...pricingOptions,
  ...printOptions,
];

export const compareCommand: Command = defineCommand({
  options,
  examples: [
    "remat compare run.json --fsdp world=8 --fsdp world=8,no-reshard --fsdp world=8,bf16",
    "remat compare run.json --checkpoint 'layers.*' --checkpoint 'layers.*(save=mm+addmm)'",
    "remat compare ./my-model.js --optimizer adam --device a100 --fsdp world=4 --fsdp world=64,replicas=16",
  ],
  takes: ["model", "run"],
  run: compare,
});

/**
 * Compares a rank's memory and communication volume under several sharding plans, or a step under several checkpointing
 * strategies (`remat compare MODEL`).
 */
async function compare({ targets: [model], options: given, io }: Invocation<typeof options>): Promise<void> {
  const { format, units } = given;
  const shardings = shardingsOf(given);
  const { trace: tracePath } = given;
  const shown = shownBeside(io, { "--trace": tracePath });
  const modelOptions = modelOptionsOf(given);
  const pricing = pricingOf(given);
  const network = networkOf(given.network, pricing.device);
  const progress = new Progress(io);
  try {
    const { trace, pricedFor } = await priceModel(modelSource(model), modelOptions, pricing, progress);
    if (tracePath !== undefined) await writeTraceFile(trace, tracePath, io);
    progress.show(`sharding ${trace.header.model ?? model}`, true);
    const { memoryBytes } = deviceToFit(trace, pricing.device, pricing.isAsked);
    const comparison = compareShardings(trace, followed(trace, shardings), {
      memoryBytes,
      device: pricing.device,
      network,
    });
    progress.clear();
    shown.write(format.write(shardingsDocument(comparison, { trace, pricedFor, units }), shapeOf(io)));
  } finally {
    progress.clear();
  }
}

/**
 * For a TensorFlow.js run, turns checkpointing rules into plans of the executor. Adds a row for early release, which
 * the executor uses without a plan.
 */
function followed(trace: Trace, shardings: readonly NamedSharding[]): readonly NamedSharding[] {
  if (trace.header.framework !== "tfjs" || shardings.every(({ checkpoint }) => checkpoint === undefined))
    return shardings;
  const graph = planningGraphOfTrace(trace);
  const planned = [{ name: "early release", checkpoint: [] }, ...shardings];
  return planned.map((sharding: NamedSharding) => {
    const { name, checkpoint } = sharding;
    if (checkpoint === undefined) return sharding;
    const policies = policiesOfRules(trace, checkpoint);
    const asked = { budgetBytes: Number.MAX_SAFE_INTEGER, method: "rules" };
    return { name, followed: planOfCheckpoints(trace, graph, policies, asked) };
  });
}

function shardingsOf({ checkpoint = [], fsdp = [] }: OptionValues<typeof options>): readonly NamedSharding[] {
  const shardings = [...checkpoint, ...fsdp];
  if (shardings.length === 0)
    throw new UsageError(
      "no plan to compare. Pass one or more, such as --fsdp world=8 or --checkpoint 'layers.*'. For one rank alone use remat memory --fsdp.",
    );
  return shardings;
}
