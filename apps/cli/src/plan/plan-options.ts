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

/** The parsed options of `remat plan`. */
export interface PlanOptions {
  /** Budget of the step's peak, or with {@link PlanMethod.budgetOf} `module`, of the memory that each module stores. */
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

/** Prevents ambiguity: a fraction of the step's peak is not a fraction of a module's memory. */
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
    access: "data",
    purpose: "What may be held at once: 0.9 or 60% of what is held without a plan, or 2GB, 512MiB",
    parse: parseBudgetOption,
  }),
  option("--module-budget <size>", {
    access: "data",
    purpose: "For --method dp, milp and greedy instead: what each module may store, of what all its results take",
    parse: parseBudgetOption,
  }),
  option("--max-overhead <share>", {
    access: "data",
    purpose: "How much longer a step may take: 20%. Without --budget: the smallest peak for that",
    parse: parseShare,
  }),
  option("--time <time>", {
    access: "data",
    purpose:
      "How long to look: 5s, 500ms, 2min (default: 5s, or as long as --iterations take); of a graph to read and write it, too",
    parse: parseTimeMs,
  }),
  option("--iterations <n>", {
    access: "data",
    purpose: "How many changes to try: the same number and seed give the same plan",
    parse: parseCount,
  }),
  option("--workers <n>", {
    access: "data",
    purpose: "Threads that search (default: one a core, 8 at most)",
    parse: parseCount,
  }),
  option("--order <order>", {
    access: "data",
    choices: planOrders,
    purpose: "fixed, or free: of graph files, in which order nodes first run",
    default: "fixed",
  }),
  option("--executor <name>", {
    access: "data",
    purpose: `What is to follow the plan: ${planExecutors.map(({ name, purpose }) => `${name}: ${purpose}`).join("; ")} (default: that of the run)`,
    choices: planExecutors.map(({ name }) => name),
  }),
  option("--whole-modules", {
    access: "data",
    purpose:
      "Of PyTorch: checkpoint modules as a whole, no parts of them, as models need that will be sharded or compiled",
  }),
  option("--method <name>", {
    access: "data",
    purpose: `${planMethods.map((method) => `${namesOf(method).join(" or ")}: ${method.purpose}`).join("; ")}`,
    default: planMethods[0].name,
    choices: methodNames,
  }),
  option("--link <rate>", {
    access: "data",
    purpose:
      "May offload to host memory, over a link of that rate each way: 12GB/s, or device for what --device has (of graph files, whose costs then are milliseconds)",
    parse: parseLink,
  }),
  option("--pareto <n>", {
    access: "data",
    purpose: "Also plan for this many budgets, down to the smallest, and recommend three",
    parse: (name, value) => parseCount(name, value, 2),
  }),
  option("--module <fqn>", {
    access: "data",
    purpose: "For methods that plan modules: only these (names or patterns, parted by commas)",
    parse: parseNames,
  }),
  option("--checkpoint <modules>", {
    access: "name or file",
    purpose:
      "Of a TensorFlow.js model, in place of a search: what is checkpointed: layers.*, block_1(save=BatchMatMul), or RematScope(…) as Keras spells it",
    parse: (name, value) => [value].flat().flatMap((each) => parseCheckpointed(name, each)),
  }),
  option("--world-size <n>", {
    access: "data",
    purpose: "For --method modules: devices that weights are sharded over",
    default: 1,
    parse: parseCount,
  }),
  option("--fsdp-units <names>", {
    access: "data",
    purpose: "For --method modules: modules that are sharded as one",
    parse: parseNames,
  }),
  option("--fsdp <plan>", {
    access: "name or file",
    purpose:
      "What one rank of many may hold: world=8,bf16. What the plan leaves open is planned: how modules are wrapped, resharded and checkpointed, together",
    parse: parseSharding,
  }),
  option("--fsdp-code <file>", {
    access: "output",
    purpose: "Also write what was planned for ranks as Python: calls of fully_shard",
    writes: "text",
  }),
  option("--network <speeds>", {
    access: "data",
    purpose: "How ranks are joined, as remat compare takes it (default: the device's)",
  }),
  option("--depth <n>", {
    access: "data",
    purpose: "Show modules by this many name components",
    default: 2,
    parse: parseCount,
  }),
  option("--top <n>", {
    access: "data",
    purpose: "How many of the recomputed storages or nodes to list (default: 10; as csv all)",
    parse: parseCount,
  }),
  option("-o, --output <file>", { access: "output", purpose: "Write the plan there, for an executor", writes: "text" }),
  option("--pytorch-policy <file>", {
    access: "output",
    purpose: "Of a PyTorch run: also write what to checkpoint, for remat.apply (Python)",
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
      `--executor ${name} plans modules, not single ops. Remove --${given[0].replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}; --pytorch-policy writes the checkpointed modules.`,
    );
  return chosen;
}

function methodNamed(name: string = planMethods[0].name): PlanMethod {
  return planMethods.find((method) => namesOf(method).includes(name)) as PlanMethod;
}
