import { Category, elementsOf, type StorageIndex, type TensorIndex, type Trace } from "@remat/trace";
import type { CastStorages } from "./cast-storages.js";
import type { ParameterGroup } from "./parameter-groups.js";
import type { RankTrace } from "./rank-trace.js";
import { ShardSizes } from "./shard-sizes.js";
import { elementBytes, type ShardingPlan } from "./sharding-plan.js";
import type { StorageRoles } from "./storage-roles.js";

/** The unsharded run, the facts about it, and the trace of the rank that is written from it. */
export interface SourceRun {
  readonly trace: Trace;
  readonly plan: ShardingPlan;
  readonly groups: readonly ParameterGroup[];
  readonly roles: StorageRoles;
  readonly casts: CastStorages | undefined;
  readonly out: RankTrace;
}

/** Maps the storages of the unsharded run to storages of the rank, with their sizes, devices and categories. */
export class SourceStorages {
  private readonly trace: Trace;
  private readonly plan: ShardingPlan;
  private readonly roles: StorageRoles;
  private readonly casts: CastStorages | undefined;
  private readonly out: RankTrace;
  private readonly sizes: ShardSizes;
  /** For each storage of the source, its own counterpart here, or -1. */
  private readonly own: Int32Array;

  constructor({ trace, plan, groups, roles, casts, out }: SourceRun) {
    this.trace = trace;
    this.plan = plan;
    this.roles = roles;
    this.casts = casts;
    this.out = out;
    this.own = new Int32Array(trace.storages.count).fill(-1);
    this.sizes = new ShardSizes(trace, plan, groups, roles);
  }

  allocate(storage: StorageIndex): void {
    const { trace, roles } = this;
    if (roles.isParameter[storage] === 1) return;
    const isOffloaded = this.plan.cpuOffload === true && this.sizes.isOptimizers(storage);
    const device = isOffloaded ? this.out.offloadDevice : trace.strings[trace.storages.device[storage]];
    let category = trace.storages.category[storage];
    if (roles.isInput[storage] === 1) category = Category.input;
    else if (category === Category.gradient) category = Category.temporary;
    const here = this.out.allocate(this.bytesOf(storage, trace.storages.bytes[storage]), device, category);
    this.own[storage] = here;
    this.out.stand(here, storage);
  }

  free(storage: StorageIndex): void {
    if (this.own[storage] >= 0) this.out.free(this.own[storage]);
  }

  resize(storage: StorageIndex, bytes: number): void {
    const here = this.own[storage];
    if (here >= 0 && this.out.isLive(here)) this.out.builder.resize(here, this.bytesOf(storage, bytes));
  }

  /** Copies a change of category that FSDP does not affect. */
  categorize(storage: StorageIndex, category: number): void {
    const here = this.own[storage];
    if (here < 0 || !this.out.isLive(here) || category === Category.gradient || this.roles.isInput[storage] === 1)
      return;
    const isShard = category === Category.parameter && this.sizes.isOptimizers(storage);
    this.out.builder.categorize(here, isShard ? Category.shardedParameter : category);
  }

  /** Returns the storage here that was created for `storage`, or -1 if none exists. */
  ownOf(storage: StorageIndex): number {
    return this.own[storage];
  }

  /**
   * Returns the shape of a tensor on the rank: the shape of the shard for a tensor that the optimizer uses as a shard.
   */
  shapeOf(tensor: TensorIndex): readonly number[] {
    const shape = this.trace.tensorShape(tensor);
    if (!this.sizes.isOptimizers(this.trace.tensors.storage[tensor])) return shape;
    const elements = this.sizes.elementsOf(shape);
    const perRow = elementsOf(shape.slice(1));
    return [perRow === 0 ? 0 : elements / perRow, ...shape.slice(1)];
  }

  dtypeOf(tensor: TensorIndex): string {
    const { casts } = this;
    const dtype = this.trace.tensorDtype(tensor);
    return casts !== undefined && casts.isLow[this.trace.tensors.storage[tensor]] === 1 ? casts.lowDtype : dtype;
  }

  private bytesOf(storage: StorageIndex, bytes: number): number {
    const tensor = this.roles.firstTensor[storage];
    if (tensor < 0) return bytes;
    if (this.sizes.isOptimizers(storage)) return bytes === 0 ? 0 : this.sizes.optimizersBytes(storage);
    if (this.casts?.isLow[storage] !== 1) return bytes;
    return Math.ceil((bytes * elementBytes(this.casts.lowDtype)) / elementBytes(this.trace.tensorDtype(tensor)));
  }
}
