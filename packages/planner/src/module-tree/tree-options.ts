import { RematError } from "@remat/trace";
import type { ModuleStats } from "./module-stats.js";

/** Options for {@link planModules}. */
export interface ModuleTreeOptions {
  /** Budget for parameters, gradients and activations on each device, in bytes. */
  readonly budgetBytes: number;
  /** Number of devices that parameters and gradients are sharded over. Default: 1. */
  readonly worldSize?: number;
  /** Names of modules that are sharded as a unit. Modules around one are not checkpointed. */
  readonly fsdpUnits?: readonly string[];
  /** Names of the modules that may be checkpointed. Default: all. */
  readonly allowedUnits?: readonly string[];
  /** The distance from the optimum at which the solver may stop, as a fraction. Default: 0. */
  readonly gap?: number;
  /** Seconds after which the best plan found is used. Default: 180. */
  readonly timeLimitS?: number | undefined;
}

/** Checks the input of {@link planModules}. @internal */
export function checkTree(modules: readonly ModuleStats[], options: ModuleTreeOptions): void {
  if (modules.length === 0) throw inputError("there are no modules. Pass the statistics of at least one");
  const names = new Set<string>();
  for (const module of modules) {
    if (names.has(module.fqn)) throw inputError(`module ${module.fqn} is given twice. Remove one`);
    names.add(module.fqn);
    for (const field of ["parameterBytes", "gradientTotalBytes", "activationBytes", "activationTotalBytes"] as const)
      checkAmount(module, field, module[field]);
    if (!Number.isFinite(module.activationGradientBytes))
      throw inputError(
        `module ${module.fqn}: activationGradientBytes is ${module.activationGradientBytes}, expected a finite number`,
      );
    checkTradeOff(module);
  }
  for (const field of ["fsdpUnits", "allowedUnits"] as const)
    for (const name of options[field] ?? [])
      if (!names.has(name))
        throw inputError(`${field} names ${name}: expected the name of one of the ${modules.length} modules`);
  checkOption("budgetBytes", options.budgetBytes, (value) => value >= 0, "a number of bytes from 0 up");
  checkOption(
    "worldSize",
    options.worldSize ?? 1,
    (value) => Number.isInteger(value) && value >= 1,
    "a whole number from 1 up",
  );
  checkOption("gap", options.gap ?? 0, (value) => value >= 0 && value < 1, "a share from 0 to below 1");
  checkOption("timeLimitS", options.timeLimitS ?? 1, (value) => value > 0, "seconds above 0");
}

function checkTradeOff(module: ModuleStats): void {
  const { tradeOff } = module;
  if (tradeOff === undefined) return;
  checkAmount(module, "tradeOff.sacMemoryBytes", tradeOff.sacMemoryBytes);
  checkAmount(module, "tradeOff.sacRuntimeMs", tradeOff.sacRuntimeMs);
  const { slopes, intercepts } = tradeOff;
  if (slopes.length !== intercepts.length)
    throw inputError(
      `module ${module.fqn}: it has ${slopes.length} slopes and ${intercepts.length} intercepts. Pass one of each per segment`,
    );
  for (const value of [...slopes, ...intercepts])
    if (!Number.isFinite(value))
      throw inputError(
        `module ${module.fqn}: its trade-off contains ${value} among slopes and intercepts, expected finite numbers`,
      );
}

function checkAmount(module: ModuleStats, field: string, value: number): void {
  if (!(value >= 0 && value < Number.POSITIVE_INFINITY))
    throw inputError(`module ${module.fqn}: ${field} is ${value}, expected at least 0`);
}

function checkOption(name: string, value: unknown, isGood: (value: number) => boolean, expected: string): void {
  if (typeof value !== "number" || !isGood(value))
    throw inputError(
      `${name} is ${typeof value === "string" ? JSON.stringify(value) : String(value)}: expected ${expected}`,
    );
}

function inputError(found: string): RematError {
  return new RematError("MODULE_TREE", `module tree: ${found}.`);
}
