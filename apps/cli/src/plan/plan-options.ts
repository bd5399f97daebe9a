import type { Budget } from "@remat/memory";
import { type CheckpointUnits, type PlanExecutor, planExecutors, tfjsExecutor } from "@remat/planner/executors";
import { type MethodOption, type PlanMethod, planMethods } from "@remat/planner/methods";
import type { CheckpointedModules } from "@remat/sharding";
import type { DeviceSpec } from "@remat/trace";
import type { OptionValues, TypedOptions } from "../command.js";
import type { StepOptionValues } from "../model-options.js";
import { pricingOf, type pricingOptions } from "../pricing-options.js";
import { UsageError } from "../usage-error.js";
import { planMethodNames, type planSearchOptions } from "./plan-search-options.js";

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

function linkOf({ name, linkGBps }: DeviceSpec): number {
  if (linkGBps !== undefined) return 1e9 * linkGBps;
  throw new UsageError(
    `--link device: the rate between ${name} and host memory is unknown. Pass a rate, such as --link 12GB/s, choose another --device, or remove --link.`,
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

/** The method used if --checkpoint is given without --method. */
const rulesMethod = planMethods.find(({ takes }) => takes.has("checkpoint"))?.name;
type PlanOptionValues = OptionValues<typeof planSearchOptions | typeof pricingOptions> & Pick<StepOptionValues, "seed">;

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
  return planMethods.find((method) => planMethodNames(method).includes(name)) as PlanMethod;
}
