import { parseBudget } from "@remat/memory";
import { planExecutors } from "@remat/planner/executors";
import { type PlanMethod, planMethods } from "@remat/planner/methods";
import { RematError } from "@remat/trace";
import { option } from "../command.js";
import { fsdpCodeOption, parseCheckpointed, parseSharding } from "../sharding-option.js";
import { parseBudgetOption, parseShare, parseTimeMs } from "../typed-quantities.js";
import { parseCount, parseText, quote, UsageError } from "../usage-error.js";
import { workersOption } from "../workers-option.js";

/** The order in which the nodes of a graph first run: as given, or chosen by the planner. */
const planOrders = ["fixed", "free"] as const;

/** Parses `12GB/s`, or `device` for the bandwidth of the device's link. */
function parseLink(name: string, value: unknown): number | "device" {
  if (value === "device") return value;
  const match = /^(.*[^\s])\s*\/\s*s$/.exec(String(value).trim());
  try {
    const rate = parseBudget(match?.[1] ?? "");
    if ("bytes" in rate) return rate.bytes;
  } catch (error) {
    if (!(error instanceof RematError && error.code === "BUDGET")) throw error;
  }
  throw new UsageError(
    `--${name} expects the rate between device and host memory, such as 12GB/s, or device for the rate of --device; found ${quote(value)}.`,
  );
}

/** Parses names separated by commas, or a repeated option. */
function parseNames(option: string, value: unknown): readonly string[] {
  return [value].flat().flatMap((item) =>
    parseText(option, item)
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== ""),
  );
}

/** Returns the names of a method that `--method` accepts. */
export const planMethodNames = ({ name, aliases = [] }: PlanMethod): readonly string[] => [name, ...aliases];

/** The options of `remat plan` except those of the step. */
export const planSearchOptions = [
  option("--budget <size>", {
    group: "usual",
    access: "data",
    purpose: "Peak memory allowed: a share of the baseline (0.9, 60%), or a size such as 2GB or 512MiB",
    parse: parseBudgetOption,
  }),
  option("--module-budget <size>", {
    group: "rare",
    access: "data",
    purpose:
      "With --method dp, milp or greedy: memory that each module may keep for the backward pass, as a share of all its results (60%), or a size such as 2GB",
    parse: parseBudgetOption,
  }),
  option("--max-overhead <share>", {
    group: "usual",
    access: "data",
    purpose: "Extra step time allowed, such as 20%. Without --budget, find the lowest peak within this extra time",
    parse: parseShare,
  }),
  option("--time <time>", {
    group: "usual",
    access: "data",
    purpose:
      "Search time, such as 5s, 500ms or 2min. For a graph file, it includes reading and writing (default: 5s, no limit with --iterations)",
    parse: parseTimeMs,
  }),
  option("--iterations <n>", {
    group: "rare",
    access: "data",
    purpose: "Number of search iterations. The same number and seed give the same plan",
    parse: parseCount,
  }),
  workersOption,
  option("--order <order>", {
    group: "rare",
    access: "data",
    choices: planOrders,
    purpose: "For graph files: fixed keeps the file's order of nodes, and free lets remat choose another",
    default: "fixed",
  }),
  option("--executor <name>", {
    group: "rare",
    access: "data",
    purpose: `Executor that will run the plan: ${planExecutors.map(({ name, purpose }) => `${name} (${purpose})`).join(", ")} (default: depends on the input)`,
    choices: planExecutors.map(({ name }) => name),
  }),
  option("--whole-modules", {
    group: "rare",
    access: "data",
    purpose: "For PyTorch: checkpoint whole modules only. Sharded and compiled models need this",
  }),
  option("--method <name>", {
    group: "rare",
    access: "data",
    purpose: `Planning method: ${planMethods.map((method) => `${planMethodNames(method).join(" or ")} (${method.purpose})`).join(", ")}`,
    default: planMethods[0].name,
    choices: planMethods.flatMap(planMethodNames),
  }),
  option("--link <rate>", {
    group: "rare",
    access: "data",
    purpose:
      "Allow offloading to host memory over a link of this rate in each direction: 12GB/s, or the word device for the link of --device. To compare it with recomputation, costs in graph files are then read as milliseconds",
    parse: parseLink,
  }),
  option("--pareto <n>", {
    group: "rare",
    access: "data",
    purpose: "Also plan for this number of budgets, down to the smallest possible, and recommend three of the plans",
    parse: (name, value) => parseCount(name, value, 2),
  }),
  option("--module <fqn>", {
    group: "rare",
    access: "data",
    purpose: "With a --method that plans modules: the modules to plan, as names or patterns separated by commas",
    parse: parseNames,
  }),
  option("--checkpoint <modules>", {
    group: "usual",
    access: "name or file",
    purpose:
      "Evaluate your own checkpointing rules for a TensorFlow.js model, without a search: layers.*, block_1(save=BatchMatMul), or RematScope(…) as in Keras",
    parse: (name, value) => [value].flat().flatMap((each) => parseCheckpointed(name, each)),
  }),
  option("--world-size <n>", {
    group: "rare",
    access: "data",
    purpose: "With --method modules: number of devices that weights are sharded over",
    default: 1,
    parse: parseCount,
  }),
  option("--fsdp-units <names>", {
    group: "rare",
    access: "data",
    purpose: "With --method modules: modules that are each sharded as one unit",
    parse: parseNames,
  }),
  option("--fsdp <plan>", {
    group: "usual",
    access: "name or file",
    purpose:
      "Plan one rank of many, such as world=8,bf16. The search chooses wrapping, resharding and checkpointing, except for settings that you give",
    parse: parseSharding,
  }),
  fsdpCodeOption,
  option("--network <speeds>", {
    group: "rare",
    access: "data",
    purpose: "Network between ranks, as in remat compare (default: set by the device)",
  }),
  option("--depth <n>", {
    group: "rare",
    access: "data",
    purpose: "Depth of module names in tables",
    default: 2,
    parse: parseCount,
  }),
  option("--top <n>", {
    group: "rare",
    access: "data",
    purpose: "Number of recomputed storages or nodes to list (default: 10, but all with --format csv)",
    parse: parseCount,
  }),
  option("-o, --output <file>", {
    group: "output",
    access: "output",
    purpose: "Write the plan to this file, to run it later",
    writes: "text",
  }),
  option("--pytorch-policy <file>", {
    group: "output",
    access: "output",
    purpose: "For a PyTorch run: also write a list of the modules that the plan checkpoints, for remat.apply in Python",
    writes: "text",
  }),
];
