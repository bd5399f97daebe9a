import type { StorageIndex, Trace } from "@remat/trace";
import { rootModule } from "./match-modules.js";
import { optimizersParameters } from "./optimizers-parameters.js";
import { type GroupParameter, ignoredParameters, type ParameterGroup } from "./parameter-groups.js";
import { shardSize } from "./shard-size.js";
import { elementBytes, isFloatDtype, type ShardingPlan, shardRank, shardRanks } from "./sharding-plan.js";
import type { StorageRoles } from "./storage-roles.js";

/**
 * Decides which storages of the unsharded run a rank keeps as shards, and their sizes.
 *
 * @internal
 */
export class ShardSizes {
  private readonly trace: Trace;
  private readonly plan: ShardingPlan;
  private readonly roles: StorageRoles;
  private readonly parameters = new Map<number, GroupParameter>();
  /** The shapes of the parameters, joined to strings. */
  private readonly parameterShapes = new Set<string>();
  /** The optimizer's storages for parameters that the plan ignores. */
  private readonly whole: ReadonlySet<number>;

  constructor(trace: Trace, plan: ShardingPlan, groups: readonly ParameterGroup[], roles: StorageRoles) {
    this.trace = trace;
    this.plan = plan;
    this.roles = roles;
    for (const { parameters } of groups)
      for (const parameter of parameters) {
        this.parameters.set(parameter.storage, parameter);
        this.parameterShapes.add(parameter.shape.join());
      }
    this.whole = this.ofIgnored(groups);
  }

  /**
   * Returns the bytes of the rank's shard of a parameter, its gradient, or its optimizer state. Returns undefined for a
   * storage that stays whole.
   */
  bytesOf(storage: StorageIndex): number | undefined {
    const parameter = this.parameters.get(storage);
    if (parameter !== undefined) return parameter.shardBytes;
    const gradient = this.roles.gradients.get(storage)?.parameter;
    if (gradient !== undefined) return gradient.shard.elements * elementBytes(gradient.dtype);
    return this.isOptimizers(storage) ? this.optimizersBytes(storage) : undefined;
  }

  /** Returns whether the optimizer keeps `storage` as a shard. It does if the storage has the shape of a parameter. */
  isOptimizers(storage: StorageIndex): boolean {
    const tensor = this.roles.firstTensor[storage];
    if (this.roles.isOptimizers[storage] === 0 || tensor < 0) return false;
    const shape = this.trace.tensorShape(tensor);
    return shape.length > 0 && this.parameterShapes.has(shape.join()) && !this.whole.has(storage);
  }

  private ofIgnored(groups: readonly ParameterGroup[]): ReadonlySet<number> {
    const { trace, plan, roles } = this;
    if ((plan.ignored ?? []).length === 0) return new Set();
    const ignored = ignoredParameters(trace, plan, rootModule(trace));
    const all = [...groups.flatMap(({ parameters }) => parameters), ...ignored];
    const inOrder = all.toSorted((a, b) => a.module - b.module || a.tensor - b.tensor);
    const theirs = new Set(ignored.map(({ storage }) => storage));
    return new Set(
      Array.from(optimizersParameters(trace, inOrder, roles)).flatMap(([storage, of]) =>
        theirs.has(of) ? [storage] : [],
      ),
    );
  }

  /** Returns the bytes of an optimizer state for a shard. */
  optimizersBytes(storage: StorageIndex): number {
    const tensor = this.roles.firstTensor[storage];
    const recorded = this.trace.tensorDtype(tensor);
    const { storedDtype } = this.plan;
    const dtype = storedDtype !== undefined && isFloatDtype(recorded) ? storedDtype : recorded;
    return this.elementsOf(this.trace.tensorShape(tensor)) * elementBytes(dtype);
  }

  /** Returns the number of elements of a tensor of `shape` on the rank. */
  elementsOf(shape: readonly number[]): number {
    return shardSize(shape, shardRanks(this.plan), shardRank(this.plan)).elements;
  }
}
