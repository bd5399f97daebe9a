import { bytesPerElement, RematError } from "@remat/trace";
import { type OwnCast, ownCastKinds } from "./own-casts.js";

/** Dtypes other than the parameters' own, with PyTorch's names (`bfloat16`). A dtype that is left out means no cast. */
export interface MixedPrecision {
  /** The dtype of all-gathered parameters, and so of activations and gradients. */
  readonly param?: string;
  /** The dtype in which gradients are reduced. Default: the gradients' own dtype. */
  readonly reduce?: string;
  /**
   * The dtype to which the outputs of the wrapped modules are cast. In the plan's own policy, it applies to the outputs
   * of the root.
   */
  readonly output?: string;
  /**
   * Casts that the model's code makes itself, such as `self.output(h).float()`. The outputs of these modules (names or
   * patterns) are cast to `dtype`. If the recorded run already computes in that dtype, such a cast leaves nothing in
   * the trace, so the plan must state it.
   */
  readonly explicitCasts?: readonly { readonly after: string; readonly dtype: string }[];
}

/** The arguments of `fully_shard` for a parameter group. */
export interface GroupPolicy {
  /**
   * True if parameters are resharded after the forward pass and all-gathered again for the backward pass. A number is
   * the number of ranks (fewer than all) over which they are sharded in between. By default all groups except the
   * root's are resharded, as in `fully_shard`.
   */
  readonly reshardAfterForward?: boolean | number;
  readonly mixedPrecision?: MixedPrecision;
}

/** Calls of `fully_shard` with arguments that differ from the plan's own policy, or with several modules. */
export interface ShardingGroup extends GroupPolicy {
  /** Names or patterns, as in {@link ShardingPlan.wrap}. `""` is the root. */
  readonly modules: readonly string[];
  /** True if all these modules are one group, as in `fully_shard([a, b])`. By default each is a group by itself. */
  readonly together?: boolean;
}

/** The arguments of a `RematScope` of Keras 3, which checkpoints the layers created in it. */
export interface RematScope {
  readonly mode: "full" | "activations" | "larger_than" | "list_of_layers";
  /** The threshold of `larger_than`, in elements of a call's result. Default: 1,024, as in Keras. */
  readonly outputSizeThreshold?: number;
  /** The layers of `list_of_layers`. */
  readonly layerNames?: readonly string[];
}

/**
 * Modules that run under non-reentrant `torch.utils.checkpoint`. For TensorFlow.js, modules that are recomputed by the
 * same rules.
 */
export interface CheckpointedModules {
  /**
   * Names or patterns, as in {@link ShardingPlan.wrap}. Empty if a scope is given, or to select all repeated blocks.
   */
  readonly modules: readonly string[];
  /** The scope of Keras around the model, which selects the modules. */
  readonly scope?: RematScope;
  /**
   * The ops that selective checkpointing saves in each call. An entry is an op's name (`aten.mm.default`, `mm`), `mm#0`
   * for the first op of that name in a call, `mm%2` for every second one, or a policy of JAX (`dots_saveable`). By
   * default nothing is saved, which is full checkpointing.
   */
  readonly save?: readonly string[];
  /**
   * The parts of each call that are recomputed, instead of the whole call, as positions among its ops. Policies of
   * `remat plan` use parts. Sharded modules cannot have them.
   */
  readonly parts?: readonly (readonly [begin: number, end: number, kept?: readonly number[]])[];
}

/** The groups that are all-gathered early: the number of next groups, or a list of modules for each module. */
export type Prefetch = number | Readonly<Record<string, readonly string[]>>;

/**
 * A sharding of a model: the arguments of PyTorch's `fully_shard` for the wrapped modules and the root, which is always
 * wrapped, and the methods called afterwards.
 */
export interface ShardingPlan extends GroupPolicy {
  /** The number of ranks. */
  readonly worldSize: number;
  /**
   * The sharding strategy. The default is FSDP2, which shards parameters, gradients and optimizer states. `ddp` is
   * `DistributedDataParallel`, which shards nothing. ZeRO-1 shards optimizer states, and ZeRO-2 also gradients. These
   * three cannot be combined with arguments of `fully_shard`.
   */
  readonly strategy?: "ddp" | "zero1" | "zero2";
  /**
   * The size of the gradient buckets of `strategy`, in bytes (`bucket_cap_mb`). Default: 25 MiB, and 1 MiB for the
   * first bucket.
   */
  readonly bucketBytes?: number;
  /** True if the gradients of `strategy` are views of their buckets. Default: false. */
  readonly gradientAsBucketView?: boolean;
  /** The number of ranks that have the same shard under HSDP. It divides `worldSize`. Default: 1. */
  readonly replicas?: number;
  /**
   * True if shards, their gradients and optimizer states are on the CPU. If the run itself was on the CPU, they are on
   * a device named `host`. Offload applies to all groups, because a trace does not show to which parameter an optimizer
   * state belongs.
   */
  readonly cpuOffload?: boolean;
  /** The rank whose memory is predicted. Default: 0, which has the largest shards. */
  readonly rank?: number;
  /**
   * Modules that are each sharded as one unit: names, or patterns in which `*` stands for part of one name and `**` for
   * any number of names. The root's name may be in front. An empty list wraps the root alone. Default: the result of
   * `usualWrap` for the run.
   */
  readonly wrap?: readonly string[];
  /**
   * Groups with their own policies. If several groups name a module, the last of them counts. Groups take precedence
   * over `wrap`.
   */
  readonly groups?: readonly ShardingGroup[];
  /** Modules whose parameters stay unsharded on each rank: names or patterns. */
  readonly ignored?: readonly string[];
  /**
   * The groups that a group all-gathers early when its forward pass begins (`set_modules_to_forward_prefetch`). By
   * default none.
   */
  readonly forwardPrefetch?: Prefetch;
  /**
   * The groups that a group all-gathers early when its backward pass begins (`set_modules_to_backward_prefetch`).
   * Default: the group that ran before it.
   */
  readonly backwardPrefetch?: Prefetch;
  /** The argument of `set_reshard_after_backward`. Default: true. */
  readonly reshardAfterBackward?: boolean;
  /**
   * Modules (names or patterns) that stay sharded in the backward pass, which does not read them:
   * `set_unshard_in_backward(False)`.
   */
  readonly keptShardedInBackward?: readonly string[];
  /**
   * The modules that are checkpointed, for a run recorded without checkpointing. If a module is named several times,
   * the last one counts.
   */
  readonly checkpoint?: readonly CheckpointedModules[];
  /** The number of micro-batches per step, each with the recorded batch. Default: the recorded number. */
  readonly microBatches?: number;
  /**
   * The backward passes of a step after which gradients are reduced (`set_requires_gradient_sync`). Default: every one.
   */
  readonly gradientSync?: "every" | "last";
  /**
   * The dtype of shards, gradients and optimizer states (`float32`), for a run that already computes in the plan's
   * lower dtype, weights included. Such a run shows the casts of the model's code, which a run in a single dtype does
   * not show. Default: the recorded dtype.
   */
  readonly storedDtype?: string;
  /**
   * The casts of the model's code to float32 if its inputs are in a lower dtype. By default, code that writes
   * normalization as single ops is assumed to cast for the normalization and for its softmax, as the code of Llama and
   * T5 does. The casts of PyTorch itself are known.
   */
  readonly ownCasts?: readonly OwnCast[];
  /**
   * True if each module of a group runs the group's forward hooks, as under `FSDPMemTracker` of PyTorch 2.13. Between
   * these modules, parameters are then freed and all-gathered again, although FSDP alone keeps them. By default the
   * prediction is for FSDP alone.
   */
  readonly asTracked?: boolean;
}

/** A plan whose wrapped modules are filled in. */
export type WrappedPlan = ShardingPlan & Required<Pick<ShardingPlan, "wrap">>;

/** Returns the number of ranks over which a plan shards: all of them, or fewer with replicas. */
export function shardRanks({ worldSize, replicas = 1 }: Pick<ShardingPlan, "worldSize" | "replicas">): number {
  return worldSize / replicas;
}

/**
 * Returns the index of the shard that the plan's rank has. Under HSDP, consecutive ranks have different shards, and
 * ranks further apart have replicas.
 */
export function shardRank(plan: Pick<ShardingPlan, "worldSize" | "replicas" | "rank">): number {
  return (plan.rank ?? 0) % shardRanks(plan);
}

/** More than any cluster has. */
const mostRanks = 2 ** 20;

/**
 * Rejects a plan that contradicts itself.
 *
 * @throws RematError `SHARDING_PLAN`
 */
export function checkShardingPlan(plan: ShardingPlan): void {
  const { worldSize, replicas = 1, rank = 0, groups = [] } = plan;
  if (!Number.isInteger(worldSize) || worldSize < 1)
    throw planError(
      `the world size is ${worldSize}, and must be a whole number of at least 1. Set the number of ranks: world=8.`,
    );
  if (worldSize > mostRanks)
    throw planError(`the world size is ${worldSize}, and the limit is ${mostRanks}. Use the number of your GPUs.`);
  if (!Number.isInteger(replicas) || replicas < 1 || worldSize % replicas !== 0)
    throw planError(
      `replicas=${replicas} does not divide the ${worldSize} ranks. For example, world=8,replicas=2 shards over 4 ranks, twice.`,
    );
  if (!Number.isInteger(rank) || rank < 0 || rank >= worldSize)
    throw planError(`expected a rank from 0 to ${worldSize - 1}, found ${rank}.`);
  checkStrategy(plan);
  const { microBatches = 1 } = plan;
  if (!Number.isInteger(microBatches) || microBatches < 1)
    throw planError(`expected at least 1 micro-batch, found ${microBatches}.`);
  checkPolicy(plan, shardRanks(plan));
  checkStored(plan);
  checkOwnCasts(plan);
  for (const group of groups) {
    if (group.modules.length === 0) throw planError("a group names no modules. Name at least one, or a pattern.");
    checkPolicy(group, shardRanks(plan));
  }
  for (const { modules, save, scope } of plan.checkpoint ?? [])
    if (modules.length === 0 && save === undefined && scope === undefined)
      throw planError("checkpoint= names no modules. Name at least one, or a pattern.");
  for (const [what, prefetch] of [
    ["forward", plan.forwardPrefetch],
    ["backward", plan.backwardPrefetch],
  ] as const)
    if (typeof prefetch === "number" && !(Number.isInteger(prefetch) && prefetch >= 0))
      throw planError(`the number of groups to prefetch in the ${what} pass must be at least 0, found ${prefetch}.`);
}

/** The settings that only apply to `fully_shard`, with their names in the text form. */
const ofFsdp = {
  replicas: "replicas=",
  cpuOffload: "offload",
  groups: "wrap= with a policy",
  ignored: "ignore=",
  forwardPrefetch: "forward-prefetch=",
  backwardPrefetch: "backward-prefetch=",
  reshardAfterForward: "reshard",
  reshardAfterBackward: "no-reshard-after-backward",
  keptShardedInBackward: "no-unshard-in-backward=",
  mixedPrecision: "bf16, param=, reduce=, output= and cast=",
  asTracked: "as-tracked",
  storedDtype: "stored=",
  ownCasts: "own-casts=",
} as const;

function checkStrategy(plan: ShardingPlan): void {
  const { strategy, bucketBytes, gradientAsBucketView } = plan;
  if (strategy === undefined) {
    if (bucketBytes !== undefined || gradientAsBucketView !== undefined)
      throw planError(
        "bucket= and bucket-view are for ddp and zero=1; FSDP reduces group by group. Add ddp, or remove them.",
      );
    return;
  }
  if (bucketBytes !== undefined && !(bucketBytes >= 1))
    throw planError(`buckets need at least one byte, found ${bucketBytes}.`);
  for (const [field, text] of Object.entries(ofFsdp))
    if (plan[field as keyof typeof ofFsdp] !== undefined)
      throw planError(`${text} is for FSDP, and the plan says ${strategy}. Remove one of them.`);
  if ((plan.wrap?.length ?? 0) > 0)
    throw planError(`wrap= is for FSDP, and the plan says ${strategy}. Remove one of them.`);
}

function checkStored({ storedDtype, mixedPrecision, groups = [] }: ShardingPlan): void {
  if (storedDtype === undefined) return;
  if (!floatDtypes.includes(storedDtype))
    throw planError(`expected stored=${floatDtypes.join(", ")}, found ${JSON.stringify(storedDtype)}.`);
  const others = groups.some((group) => group.mixedPrecision !== undefined);
  if (mixedPrecision?.param === undefined || others)
    throw planError(
      "stored= needs one dtype that all groups compute in. Set it once for the plan: world=8,bf16,stored=float32.",
    );
}

function checkOwnCasts({ ownCasts = [], storedDtype }: ShardingPlan): void {
  const unknown = ownCasts.find((each) => !ownCastKinds.includes(each));
  if (unknown !== undefined)
    throw planError(
      `expected own-casts= of ${ownCastKinds.join(", ")}, found ${JSON.stringify(unknown)}. For no casts write own-casts= without a value.`,
    );
  if (ownCasts.length > 0 && storedDtype !== undefined)
    throw planError(
      "own-casts= is for runs in float32, and stored= for runs that show their casts. Remove one of them.",
    );
}

function checkPolicy({ reshardAfterForward, mixedPrecision = {} }: GroupPolicy, ranks: number): void {
  if (typeof reshardAfterForward === "number") {
    const size = reshardAfterForward;
    if (!Number.isInteger(size) || size < 1 || ranks % size !== 0)
      throw planError(
        `reshard=${size} does not divide the ${ranks} ranks of a shard. Use a divisor, or reshard for all ranks.`,
      );
  }
  for (const dtype of [
    mixedPrecision.param,
    mixedPrecision.reduce,
    mixedPrecision.output,
    ...(mixedPrecision.explicitCasts ?? []).map((cast) => cast.dtype),
  ])
    if (dtype !== undefined && !floatDtypes.includes(dtype))
      throw planError(`expected a dtype of ${floatDtypes.join(", ")}, found ${JSON.stringify(dtype)}.`);
}

const floatDtypes: readonly string[] = ["float16", "bfloat16", "float32", "float64"];

export function isFloatDtype(dtype: string): boolean {
  return floatDtypes.includes(dtype);
}

/** Returns the bytes of one element, 4 for an unknown dtype. */
export function elementBytes(dtype: string): number {
  return bytesPerElement(dtype) ?? 4;
}

export function planError(detail: string): RematError {
  return new RematError("SHARDING_PLAN", `sharding plan: ${detail}`);
}
