import { type Budget, parseBudget } from "@remat/memory";
import { type CheckpointUnits, type PlanExecutor, planExecutors, tfjsExecutor } from "@remat/planner/executors";
import { type MethodOption, type PlanMethod, planMethods } from "@remat/planner/methods";
import type { CheckpointedModules } from "@remat/sharding";
import { type DeviceSpec, RematError } from "@remat/trace";
import { type OptionValues, option, type TypedOptions } from "../command.js";
import type { StepOptionValues } from "../model-options.js";
import { pricingOf, type pricingOptions } from "../pricing-options.js";
import { parseCheckpointed, parseSharding } from "../sharding-option.js";
import { parseBudgetOption, parseShare, parseTimeMs } from "../typed-quantities.js";
import { parseCount, parseText, quote, UsageError } from "../usage-error.js";
import { workersOption } from "../workers-option.js";

/** The parsed options of `remat plan`. */
export interface PlanOptions {
  /**
   * Budget for the step's peak. If {@link PlanMethod.budgetOf} is `module`, it is for the memory that each module
   * stores.
   */
  readonly budget: Budget | undefined;
  readonly maxOverhead: number | undefined;
  /** Milliseconds, or undefined if only iterations count. */
  readonly timeMs: number | undefined;
  readonly iterations: number | undefined;
  readonly seed: number;
  readonly order: "fixed" | "free";
  readonly method: PlanMethod;
  readonly paretoPoints: number;
  /** Number of search threads, or undefined for one per core. */
  readonly workers: number | undefined;
  readonly modules: readonly string[];
  readonly worldSize: number;
  readonly fsdpUnits: readonly string[];
  /**
   * Bandwidth of the link between device and host memory in bytes per second, each way, or undefined if offloading is
   * not allowed.
   */
  readonly linkBytesPerSecond: number | undefined;
  /** Modules to checkpoint, if they are not searched for. */
  readonly checkpoint: readonly CheckpointedModules[] | undefined;
  readonly output: string | undefined;
  readonly pyTorchPolicy: string | undefined;
  /** The executor that the plan is for, or undefined for the default of the run. */
  readonly executor: PlanExecutor | undefined;
  /** Units that a plan for PyTorch checkpoints. */
  readonly units: CheckpointUnits;
}

/** The order in which the nodes of a graph first run: as given, or chosen by the planner. */
export const planOrders = ["fixed", "free"] as const;

/**
 * Returns the budget that belongs to the method. The other budget option is rejected, because a fraction of the step's
 * peak is not a fraction of a module's memory.
 */
function budgetFor(
  { name, budgetOf }: PlanMethod,
  options: PlanOptionValues,
  { budget, moduleBudget }: TypedOptions,
): Budget | undefined {
  const refused = budgetOf === "module" ? budget : moduleBudget;
  if (refused !== undefined)
    throw new UsageError(
      budgetOf === "module"
        ? `--budget limits the step's peak, and --method ${name} limits what each module stores. Use --module-budget ${String(refused)}, or remove --method.`
        : `--module-budget limits what each module stores, and --method ${name} limits the step's peak. Use --budget, or --method ${perModule()}.`,
    );
  return budgetOf === "module" ? options.moduleBudget : options.budget;
}

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

function linkOf({ name, linkGBps }: DeviceSpec): number {
  if (linkGBps !== undefined) return 1e9 * linkGBps;
  throw new UsageError(
    `--link device: the rate between ${name} and host memory is unknown. Pass a rate, such as --link 12GB/s, choose another --device, or remove --link.`,
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

function checkTogether(options: PlanOptions): void {
  const { budget, maxOverhead, method, paretoPoints, order } = options;
  const { name, takes, budgetOf } = method;
  if (budget === undefined && budgetOf === "module")
    throw new UsageError(
      `--method ${name} needs a --module-budget: a share of a module's results, such as 60%, or a size, such as 2GB.`,
    );
  if (options.checkpoint === undefined && takes.has("checkpoint"))
    throw new UsageError(
      `--method ${name} needs the modules to checkpoint: --checkpoint 'layers.*', or 'block_1(save=BatchMatMul)'.`,
    );
  if (takes.has("checkpoint") && maxOverhead !== undefined)
    throw new UsageError(
      `--max-overhead is for methods that search, and --method ${name} uses exactly the modules of --checkpoint. Remove it.`,
    );
  if (budget === undefined && maxOverhead === undefined && paretoPoints === 0 && !takes.has("checkpoint"))
    throw new UsageError(
      "no budget was given. Pass --budget (0.9, 60% or 2GB), --max-overhead 20%, or --pareto 10 for all trade-offs.",
    );
  if (budget === undefined && !takes.has("maxOverhead") && !takes.has("checkpoint"))
    throw new UsageError(`--method ${name} needs a --budget, such as --budget 60%.`);
  const given: readonly (readonly [boolean, MethodOption, string])[] = [
    [paretoPoints > 0, "pareto", "--pareto works"],
    [order === "free", "order", "--order free works"],
    [options.worldSize > 1 || options.fsdpUnits.length > 0, "sharding", "--world-size and --fsdp-units work"],
    [options.modules.length > 0, "modules", "--module works"],
    [options.linkBytesPerSecond !== undefined, "link", "--link works"],
    [options.checkpoint !== undefined, "checkpoint", "--checkpoint works"],
  ];
  for (const [isGiven, option, what] of given)
    if (isGiven && !takes.has(option))
      throw new UsageError(
        `${what} with --method ${methodsThatTake(option)}, not with ${name}. Change --method, or remove it.`,
      );
}

function methodsThatTake(option: MethodOption): string {
  return listed(planMethods.filter(({ takes }) => takes.has(option)));
}

function perModule(): string {
  return listed(planMethods.filter(({ budgetOf }) => budgetOf === "module"));
}

function listed(methods: readonly PlanMethod[]): string {
  const names = methods.map(({ name }) => name);
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}

const namesOf = ({ name, aliases = [] }: PlanMethod): readonly string[] => [name, ...aliases];
/** The method used if --checkpoint is given without --method. */
const rulesMethod = planMethods.find(({ takes }) => takes.has("checkpoint"))?.name;
const methodNames = planMethods.flatMap(namesOf);

/** The options of `remat plan` except those of the step. */
export const planOptions = [
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
    purpose: `Planning method: ${planMethods.map((method) => `${namesOf(method).join(" or ")} (${method.purpose})`).join(", ")}`,
    default: planMethods[0].name,
    choices: methodNames,
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
  option("--fsdp-code <file>", {
    group: "rare",
    access: "output",
    purpose: "Also write the sharding plan as Python calls of fully_shard",
    writes: "text",
  }),
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

type PlanOptionValues = OptionValues<typeof planOptions | typeof pricingOptions> & Pick<StepOptionValues, "seed">;

/**
 * Parses the options of `remat plan`.
 *
 * @param typedOptions the same options as typed
 * @throws UsageError naming the option
 */
export function planOptionsOf(options: PlanOptionValues, typedOptions: TypedOptions): PlanOptions {
  const { iterations, checkpoint } = options;
  // The default value means that no method was named.
  const isNamed = options.method !== planMethods[0].name;
  const method = methodNamed(checkpoint === undefined || isNamed ? options.method : rulesMethod);
  const asked: PlanOptions = {
    budget: budgetFor(method, options, typedOptions),
    maxOverhead: options.maxOverhead,
    timeMs: options.time ?? (iterations === undefined ? 5000 : undefined),
    iterations,
    seed: options.seed ?? 0,
    order: options.order,
    method,
    paretoPoints: options.pareto ?? 0,
    workers: options.workers,
    modules: options.module ?? [],
    worldSize: options.worldSize,
    fsdpUnits: options.fsdpUnits ?? [],
    linkBytesPerSecond: options.link === "device" ? linkOf(pricingOf(options).device) : options.link,
    checkpoint,
    output: options.output,
    pyTorchPolicy: options.pytorchPolicy,
    executor: executorFor(options),
    units: options.wholeModules ? "modules" : "parts",
  };
  checkTogether(asked);
  return asked;
}

/** Op-by-op options belong to methods that only some executors support, so naming one selects such an executor. */
const opByOp = ["method", "checkpoint", "moduleBudget", "module", "pareto", "output", "fsdpUnits"] as const;

function executorFor(options: PlanOptionValues): PlanExecutor | undefined {
  const { executor: name } = options;
  const given = opByOp.filter((option) => options[option] !== undefined && options[option] !== planMethods[0].name);
  if (name === undefined) return given.length > 0 ? tfjsExecutor : undefined;
  const chosen = planExecutors.find((one) => one.name === name) as PlanExecutor;
  if (chosen.plans === "step" && chosen.framework !== undefined && given.length > 0)
    throw new UsageError(
      `--executor ${name} plans modules, not single ops. ` +
        `Remove --${given[0].replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}; ` +
        "--pytorch-policy writes the checkpointed modules.",
    );
  return chosen;
}

function methodNamed(name: string = planMethods[0].name): PlanMethod {
  return planMethods.find((method) => namesOf(method).includes(name)) as PlanMethod;
}
