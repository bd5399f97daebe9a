import { Category, type OpIndex, Phase, type StorageIndex, type Trace } from "@remat/trace";
import { formatPercent } from "@remat/trace/text";
import { EventCopy } from "./event-copy.js";
import type { Communication } from "./fsdp-rank.js";
import { optimizersParameters } from "./optimizers-parameters.js";
import type { GroupParameter, ParameterGroup } from "./parameter-groups.js";
import { ShardSizes } from "./shard-sizes.js";
import { elementBytes, type ShardingPlan } from "./sharding-plan.js";
import { StepPasses } from "./step-passes.js";
import { type StorageRoles, storageRoles } from "./storage-roles.js";
import type { StreamWork } from "./stream-work.js";
import { zeroPartition } from "./zero-partition.js";

/** A simulated rank with unsharded parameters. */
export interface DataParallelRun {
  readonly trace: Trace;
  readonly work: readonly StreamWork[];
  readonly communication: Communication;
  readonly steps: number;
}

const MiB = 2 ** 20;

/** PyTorch keeps its first bucket small so that it is reduced early. */
const firstBucketBytes = MiB;

/**
 * Simulates a rank of `DistributedDataParallel`, of ZeRO-1 or of ZeRO-2.
 *
 * ZeRO-1 works like `ZeroRedundancyOptimizer`: each rank updates the whole parameters that are assigned to it. ZeRO-2
 * divides each gradient and each optimizer state. Gradients are copied into buckets as they are computed, and each full
 * bucket is reduced. Under DDP and ZeRO-1 the buckets exist from the start. With `gradientAsBucketView`, the gradients
 * are views of them. Under ZeRO-2 a bucket is freed once it is reduced, and only a shard of it remains. After an
 * update, each rank gets the changed parameters from the ranks that have their optimizer states.
 *
 * Source: `torch/csrc/distributed/c10d/reducer.cpp` and `torch/distributed/optim/zero_redundancy_optimizer.py` of
 * PyTorch 2.13. For ZeRO-2: Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models"
 * (2020).
 *
 * @param group all parameters
 */
export function simulateDataParallel(
  trace: Trace,
  plan: ShardingPlan,
  group: ParameterGroup,
  root: number,
): DataParallelRun {
  return new DataParallelCopy(trace, plan, group, root).run();
}

interface Bucket {
  readonly parameters: readonly GroupParameter[];
  readonly bytes: number;
  /** The storage of the bucket under DDP and ZeRO-1. */
  storage: number;
  /** Parameters whose gradients are not computed yet in this backward pass. */
  readonly waiting: Set<GroupParameter>;
  /** Gradients that are already computed, by storage of the source. */
  readonly come: number[];
}

class DataParallelCopy extends EventCopy {
  private readonly plan: ShardingPlan;
  private readonly roles: StorageRoles;
  private readonly sizes: ShardSizes;
  private readonly steps: StepPasses;
  /**
   * For ZeRO-1: the optimizer's storages for parameters that other ranks update, and the bytes of these parameters,
   * which this rank receives.
   */
  private readonly elsewhere: ReadonlySet<number>;
  private readonly updatedElsewhereBytes: number;
  private readonly buckets: readonly Bucket[];
  private readonly bucketOf = new Map<GroupParameter, Bucket>();
  private readonly work: StreamWork[] = [];
  private readonly received = { allGatherBytes: 0, reduceScatterBytes: 0, allReduceBytes: 0 };
  /**
   * For each gradient of the source that is part of a bucket's shard, the storage of the shard and the number of
   * unfreed gradients that use it.
   */
  private readonly shardOf = new Map<number, { storage: number; uses: number }>();
  private isUpdated = false;
  private isBackward = false;
  private lastOp = -1;

  constructor(trace: Trace, plan: ShardingPlan, group: ParameterGroup, root: number) {
    const { worldSize: ranks, rank = 0 } = plan;
    const rankOf = plan.strategy === "zero1" ? zeroPartition(group.parameters, ranks) : undefined;
    super(trace, [describe(plan), ...(rankOf === undefined ? [] : [describePartition(group, rankOf, plan)])]);
    this.plan = plan;
    this.roles = storageRoles(trace, [group], root);
    const others = new Set(group.parameters.filter((_, place) => rankOf !== undefined && rankOf[place] !== rank));
    const owners = others.size === 0 ? [] : optimizersParameters(trace, group.parameters, this.roles);
    const theirs = new Set(Array.from(others, ({ storage }) => storage));
    this.elsewhere = new Set(Array.from(owners).flatMap(([storage, of]) => (theirs.has(of) ? [storage] : [])));
    this.updatedElsewhereBytes = [...others].reduce((sum, parameter) => sum + bytesOf(parameter), 0);
    this.sizes = new ShardSizes(trace, plan, [group], this.roles);
    this.steps = new StepPasses(trace, root);
    this.buckets = bucketsOf(group, plan.bucketBytes ?? 25 * MiB);
    for (const bucket of this.buckets) for (const parameter of bucket.parameters) this.bucketOf.set(parameter, bucket);
  }

  run(): DataParallelRun {
    const { plan, trace, buckets } = this;
    if (plan.strategy !== "zero2")
      for (const bucket of buckets)
        bucket.storage = this.copy.builder.allocate(
          bucket.bytes,
          trace.header.device,
          plan.gradientAsBucketView === true ? Category.gradient : Category.reduceScatter,
        );
    this.write(0, trace.events.count);
    this.endBackward();
    this.gatherUpdated();
    const { steps } = this.steps;
    const { allGatherBytes, reduceScatterBytes, allReduceBytes } = this.received;
    return {
      trace: this.build(),
      work: this.work,
      steps,
      communication: {
        allGatherBytes: allGatherBytes / steps,
        reduceScatterBytes: reduceScatterBytes / steps,
        allReduceBytes: allReduceBytes / steps,
      },
    };
  }

  protected override op(op: OpIndex): void {
    const phase = this.trace.ops.phase[op];
    const isBackward = phase === Phase.backward || phase === Phase.recompute;
    if (this.isBackward && !isBackward) this.endBackward();
    if (phase === Phase.forward && this.isUpdated) this.gatherUpdated();
    super.op(op);
    this.lastOp = op;
    this.isBackward = isBackward;
    this.isUpdated ||= phase === Phase.optimizer;
  }

  protected override bytesOf(storage: StorageIndex): number {
    if (this.elsewhere.has(storage)) return 0;
    const shards = this.plan.strategy === "zero2" && this.sizes.isOptimizers(storage);
    return shards ? this.sizes.optimizersBytes(storage) : super.bytesOf(storage);
  }

  protected override allocate(storage: StorageIndex): void {
    super.allocate(storage);
    if (this.trace.storages.category[storage] === Category.gradient) this.come(storage);
  }

  protected override categorize(storage: StorageIndex, category: number): void {
    super.categorize(storage, category);
    if (category === Category.gradient) this.come(storage);
  }

  protected override free(storage: StorageIndex): void {
    const shard = this.shardOf.get(storage);
    if (shard === undefined) return super.free(storage);
    this.shardOf.delete(storage);
    if (--shard.uses === 0) this.copy.builder.free(shard.storage);
  }

  /** Puts a finished gradient into its bucket. The last gradient of a bucket starts its reduction. */
  private come(storage: StorageIndex): void {
    const gradient = this.roles.gradients.get(storage);
    if (gradient === undefined) return;
    const bucket = this.bucketOf.get(gradient.parameter);
    if (bucket === undefined) return;
    // A gradient that is a view of its bucket needs no memory of its own.
    if (this.plan.gradientAsBucketView === true && this.plan.strategy !== "zero2" && !gradient.isAdded) {
      super.free(storage);
      this.storageFor[storage] = bucket.storage;
    }
    if (!this.reduces() || !bucket.waiting.delete(gradient.parameter)) return;
    // A gradient that is added to one of an earlier pass is freed on its own.
    if (!gradient.isAdded) bucket.come.push(storage);
    if (bucket.waiting.size === 0) this.reduce(bucket);
  }

  private reduce(bucket: Bucket): void {
    const { plan } = this;
    const ranks = plan.worldSize;
    const { bytes } = bucket;
    const op = this.copy.builder.opCount;
    if (plan.strategy === "zero2") {
      const whole = this.copy.builder.allocate(bytes, this.trace.header.device, Category.reduceScatter);
      const shard = this.copy.builder.allocate(
        Math.ceil(bytes / ranks),
        this.trace.header.device,
        Category.shardedGradient,
      );
      this.work.push({ kind: "reduce", op, group: 0, bytes, ranks, replicas: 1, hostBytes: 0 });
      this.received.reduceScatterBytes += (bytes * (ranks - 1)) / ranks;
      this.copy.builder.free(whole);
      const of = { storage: shard, uses: bucket.come.length };
      for (const storage of bucket.come) {
        super.free(storage);
        this.storageFor[storage] = shard;
        this.shardOf.set(storage, of);
      }
      // The shard of an earlier pass takes in what this pass adds.
      if (of.uses === 0) this.copy.builder.free(shard);
    } else {
      this.work.push({ kind: "reduce", op, group: 0, bytes, ranks: 1, replicas: ranks, hostBytes: 0 });
      this.received.allReduceBytes += (2 * bytes * (ranks - 1)) / ranks;
    }
    bucket.come.length = 0;
    for (const parameter of bucket.parameters) bucket.waiting.add(parameter);
  }

  /** Waits for all buckets. Parameters without a gradient leave their bucket incomplete, so it is reduced here. */
  private endBackward(): void {
    if (this.isBackward && this.reduces())
      for (const bucket of this.buckets) if (bucket.waiting.size < bucket.parameters.length) this.reduce(bucket);
    this.isBackward = false;
    this.work.push({ kind: "join", op: this.copy.builder.opCount });
  }

  /** Gathers the updated parameters, each from the rank that has its optimizer states. */
  private gatherUpdated(): void {
    if (this.isUpdated && this.plan.strategy !== "ddp") {
      const { worldSize: ranks } = this.plan;
      const bytes = this.buckets.reduce((sum, bucket) => sum + bucket.bytes, 0);
      const op = this.copy.builder.opCount;
      this.work.push({ kind: "begin", op }, { kind: "gather", op, group: 0, bytes, ranks, hostBytes: 0 });
      this.work.push({ kind: "use", op, group: 0, bytes: 0 });
      this.received.allGatherBytes +=
        this.plan.strategy === "zero1" ? this.updatedElsewhereBytes : (bytes * (ranks - 1)) / ranks;
    }
    this.isUpdated = false;
  }

  /**
   * Returns whether this backward pass reduces gradients. Either each backward pass does, or only the last one of a
   * step.
   */
  private reduces(): boolean {
    return this.plan.gradientSync !== "last" || this.steps.isLastBackward(Math.max(0, this.lastOp));
  }
}

function bytesOf({ elements, dtype }: GroupParameter): number {
  return elements * elementBytes(dtype);
}

/** Returns a note on the shares of the ranks, which differ because whole parameters are assigned to them. */
function describePartition({ parameters }: ParameterGroup, rankOf: Int32Array, plan: ShardingPlan): string {
  const { worldSize, rank = 0 } = plan;
  const elements = new Float64Array(worldSize);
  parameters.forEach((parameter, place) => void (elements[rankOf[place]] += parameter.elements));
  const most = elements.indexOf(Math.max(...elements));
  const share = (of: number): string => formatPercent(elements[of] / elements.reduce((sum, each) => sum + each));
  const count = rankOf.filter((each) => each === rank).length;
  const other = elements[most] > elements[rank] ? `, and rank ${most} most, ${share(most)}` : "";
  return `ZeroRedundancyOptimizer assigns whole parameters to ranks: rank ${rank} updates ${count} of ${parameters.length}, ${share(rank)} of their elements${other}.`;
}

function describe({ worldSize, rank = 0, strategy }: ShardingPlan): string {
  const how =
    strategy === "ddp"
      ? "under DistributedDataParallel"
      : strategy === "zero1"
        ? "under ZeRO-1, with optimizer states of the parameters that it updates"
        : "under ZeRO-2, with sharded gradients and optimizer states";
  return `Simulated from a run on one device: rank ${rank} of ${worldSize} ${how}.`;
}

/**
 * Returns the buckets of the parameters. They are filled from the last parameter on, in the order in which gradients
 * are computed. A bucket is full once it has at least `most` bytes.
 */
function bucketsOf({ parameters }: ParameterGroup, most: number): readonly Bucket[] {
  const buckets: Bucket[] = [];
  let open: GroupParameter[] = [];
  let bytes = 0;
  const close = (): void => {
    if (open.length > 0) buckets.push({ parameters: open, bytes, storage: -1, waiting: new Set(open), come: [] });
    open = [];
    bytes = 0;
  };
  for (const parameter of parameters.toReversed()) {
    open.push(parameter);
    bytes += bytesOf(parameter);
    if (bytes >= (buckets.length === 0 ? Math.min(firstBucketBytes, most) : most)) close();
  }
  close();
  return buckets;
}
