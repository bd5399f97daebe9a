import { isInside, type ModuleStats } from "./module-stats.js";
import type { ModuleTreeOptions } from "./tree-options.js";

/** A module that may be checkpointed. */
export interface Unit {
  readonly fqn: string;
  /** Its position among the modules: forward passes end in this order. */
  readonly place: number;
  /**
   * Bytes of all activations of its ops, and bytes of those that are live without checkpointing. The difference must be
   * freed before any memory is saved.
   */
  readonly allBytes: number;
  readonly heldBytes: number;
  readonly runtimeMs: number;
  /** Recomputation time for a freed share: the maximum of these lines and 0. */
  readonly slopes: readonly number[];
  readonly intercepts: readonly number[];
}

/** For each unit, the share of `allBytes` that it frees. 0 if the unit is not checkpointed. */
export type Shares = Float64Array;

/**
 * The module tree as an optimization problem: the memory at each module without checkpointing, and the memory that each
 * unit could free before it.
 */
export interface TreeModel {
  readonly units: readonly Unit[];
  /** For each unit, its ancestors among the units. */
  readonly ancestors: readonly (readonly number[])[];
  /** For each module, an upper bound on memory at the peak of its backward pass. */
  readonly heldBytes: Float64Array;
}

export function treeModel(modules: readonly ModuleStats[], options: ModuleTreeOptions): TreeModel {
  const { worldSize = 1, fsdpUnits = [], allowedUnits } = options;
  const allowed = allowedUnits && new Set(allowedUnits);
  const units: Unit[] = [];
  for (const [place, { fqn, tradeOff, activationBytes }] of modules.entries()) {
    if (tradeOff === undefined || (allowed !== undefined && !allowed.has(fqn))) continue;
    if (fsdpUnits.some((unit) => isInside(unit, fqn))) continue;
    // The original divides by zero for a module with children but without activations.
    const allBytes = Math.max(tradeOff.sacMemoryBytes, activationBytes);
    if (allBytes === 0) continue;
    const { slopes, intercepts, sacRuntimeMs: runtimeMs } = tradeOff;
    units.push({ fqn, place, allBytes, heldBytes: activationBytes, runtimeMs, slopes, intercepts });
  }
  const names = new Set(modules.map(({ fqn }) => fqn));
  let parameterBytes = 0;
  for (const module of modules) if (isOutermost(module.fqn, names)) parameterBytes += module.parameterBytes;
  return {
    units,
    ancestors: units.map(({ fqn }) => units.flatMap((other, u) => (isInside(fqn, other.fqn) ? [u] : []))),
    heldBytes: Float64Array.from(
      modules,
      (module) =>
        module.activationTotalBytes +
        module.activationGradientBytes +
        (parameterBytes + module.gradientTotalBytes) / worldSize,
    ),
  };
}

/** Returns the memory that checkpointing `unit` saves if it frees `share` of its activations. */
export function freedBytes(unit: Unit, share: number): number {
  return share > 0 ? unit.allBytes * share - (unit.allBytes - unit.heldBytes) : 0;
}

export function recomputationMs(unit: Unit, share: number): number {
  if (share === 0) return 0;
  let part = 0;
  for (const [s, slope] of unit.slopes.entries()) part = Math.max(part, slope * share + unit.intercepts[s]);
  return unit.runtimeMs * part;
}

/** Returns the memory at each module, without the memory that units free before it. */
export function memoryByModule({ units, heldBytes }: TreeModel, shares: Shares): Float64Array {
  const memory = new Float64Array(heldBytes.length);
  let freed = 0;
  let unit = 0;
  for (let place = 0; place < memory.length; place++) {
    memory[place] = heldBytes[place] - freed;
    if (unit < units.length && units[unit].place === place) freed += freedBytes(units[unit], shares[unit++]);
  }
  return memory;
}

function isOutermost(fqn: string, names: ReadonlySet<string>): boolean {
  for (let dot = fqn.lastIndexOf("."); dot > 0; dot = fqn.lastIndexOf(".", dot - 1))
    if (names.has(fqn.slice(0, dot))) return false;
  return true;
}
