import { bytesPerElement, RematError } from "@remat/trace";
import { type OwnCast, ownCastKinds } from "./own-casts.js";

/** Dtypes other than the parameters' own, by PyTorch's names (`bfloat16`). Left out: no cast. */
export interface MixedPrecision {
  /** Of gathered parameters, and so of activations and gradients. */
  readonly param?: string;
  /** In which gradients are reduced; left out: the gradients' own. */
  readonly reduce?: string;
  /** To which the outputs of the wrapped modules are cast; of the plan's own, those of the root. */
  readonly output?: string;
  /**
   * Casts that the model's code makes itself (`self.output(h).float()`). Where the recorded run computes in that dtype already such a cast
   * is no op and leaves nothing in the trace, so it has to be told: the outputs of these modules (names or patterns) are cast to `dtype`.
   */
  readonly explicitCasts?: readonly { readonly after: string; readonly dtype: string }[];
}

/** What `fully_shard` is told of a group of parameters. */
export interface GroupPolicy {
  /**
   * Whether parameters are freed after the forward pass and gathered again for the backward pass; or over how many ranks they are then sharded, fewer than all. Left
   * out: they are freed but for the root's, as `fully_shard` does by default.
   */
  readonly reshardAfterForward?: boolean | number;
  readonly mixedPrecision?: MixedPrecision;
}

/** Calls of `fully_shard` that differ from the plan's own policy, or that take several modules as one. */
export interface ShardingGroup extends GroupPolicy {
  /** Names or patterns, as of {@link ShardingPlan.wrap}; `""` is the root. */
  readonly modules: readonly string[];
  /** Whether all of them are one group, `fully_shard([a, b])`; left out: each is one by itself. */
  readonly together?: boolean;
}

/** What Keras 3 checkpoints of layers that are made in a `RematScope`, by its arguments. */
export interface RematScope {
  readonly mode: "full" | "activations" | "larger_than" | "list_of_layers";
  /** Of `larger_than`: in elements of a call's result; left out: 1,024, as in Keras. */
  readonly outputSizeThreshold?: number;
  /** Of `list_of_layers`. */
  readonly layerNames?: readonly string[];
}

/** Modules that run under `torch.utils.checkpoint`, without reentrance, or of TensorFlow.js as if they did. */
export interface CheckpointedModules {
  /** Names or patterns, as of {@link ShardingPlan.wrap}; empty where a scope says it, or for the blocks that repeat. */
  readonly modules: readonly string[];
  /** What Keras would checkpoint of a model that is made in such a scope. */
  readonly scope?: RematScope;
  /**
   * What selective checkpointing saves of each call: ops by name (`aten.mm.default`, `mm`), `mm#0` for the first of that name in a call, `mm%2` for every second one, JAX's
   * policies by name (`dots_saveable`). Left out: nothing, which is full checkpointing.
   */
  readonly save?: readonly string[];
  /** Parts of each call that run again, instead of the whole: places among its ops, as policies of `remat plan` have them. Not of sharded modules. */
  readonly parts?: readonly (readonly [begin: number, end: number, kept?: readonly number[]])[];
}

/** Which groups are gathered early: how many of those that come next, or, by module, which. */
export type Prefetch = number | Readonly<Record<string, readonly string[]>>;

/** How a model is sharded: the arguments of PyTorch's `fully_shard` on the wrapped modules and on the root, which is always wrapped, and what is called on them afterwards. */
export interface ShardingPlan extends GroupPolicy {
  /** How many ranks there are. */
  readonly worldSize: number;
  /**
   * What is sharded: parameters, gradients and optimizer states by FSDP2, which is meant where this is left out; nothing by `DistributedDataParallel`; besides that optimizer states
   * (ZeRO-1), or gradients, too (ZeRO-2). Nothing of what `fully_shard` can be told goes with the latter three.
   */
  readonly strategy?: "ddp" | "zero1" | "zero2";
  /** Of `strategy`: how many bytes of gradients are reduced together (`bucket_cap_mb`); left out: 25 MiB, the first bucket 1 MiB. */
  readonly bucketBytes?: number;
  /** Of `strategy`: whether gradients are views of their buckets; left out: false. */
  readonly gradientAsBucketView?: boolean;
  /** HSDP: by how many ranks each shard is held, a divisor of `worldSize`; left out: 1. */
  readonly replicas?: number;
  /** Shards, their gradients and optimizer states live on the CPU; where the run itself was on the CPU, on a device `host`. Of all groups or none: a trace does not tell which optimizer state is of which parameter. */
  readonly cpuOffload?: boolean;
  /** Whose memory is predicted; left out: 0, which has the largest shards. */
  readonly rank?: number;
  /**
   * Modules that are gathered and resharded as one: names, or patterns in which `*` stands for part of one name and `**` for any number of
   * names. With or without the root's name in front. None: the root alone. Left out: `usualWrap` of the run.
   */
  readonly wrap?: readonly string[];
  /** Where a module is named by several, and by `wrap`, the last counts. */
  readonly groups?: readonly ShardingGroup[];
  /** Modules whose parameters are left as they are, whole on each rank: names or patterns. */
  readonly ignored?: readonly string[];
  /** What a group gathers besides itself as its forward pass begins (`set_modules_to_forward_prefetch`); left out: nothing. */
  readonly forwardPrefetch?: Prefetch;
  /** What a group gathers besides itself as its backward pass begins (`set_modules_to_backward_prefetch`); left out: the one that ran before it. */
  readonly backwardPrefetch?: Prefetch;
  /** `set_reshard_after_backward`; left out: true. */
  readonly reshardAfterBackward?: boolean;
  /** Modules (names or patterns) that are not gathered in the backward pass, which does not read them: `set_unshard_in_backward(False)`. */
  readonly keptShardedInBackward?: readonly string[];
  /** What is checkpointed, of a run that was recorded without; where a module is named by several, the last counts. */
  readonly checkpoint?: readonly CheckpointedModules[];
  /** How many forward and backward passes a step has, each of the batch that was recorded; left out: as recorded. */
  readonly microBatches?: number;
  /** After which of a step's backward passes gradients are reduced (`set_requires_gradient_sync`); left out: after every one. */
  readonly gradientSync?: "every" | "last";
  /**
   * Of a run that computes in the plan's lower dtype already, weights included: the dtype in which shards, their gradients and the optimizer's states are kept (`float32`). Such a run shows what
   * the model's code casts by itself, which one in a single dtype does not. Left out: as recorded.
   */
  readonly storedDtype?: string;
  /**
   * What the model's code casts to float32 by itself where it is given a lower dtype. Left out: where it normalises by single ops, that and its softmax, as the code of Llamas and T5s does; what
   * PyTorch itself computes so is known.
   */
  readonly ownCasts?: readonly OwnCast[];
  /**
   * Whether modules that are one group each run the group's forward hooks, as `FSDPMemTracker` of PyTorch 2.13 makes them while it looks: it frees and gathers in between what
   * FSDP by itself keeps. Left out: as FSDP by itself.
   */
  readonly asTracked?: boolean;
}

/** A plan with what it wraps, where it was left out, too. */
export type WrappedPlan = ShardingPlan & Required<Pick<ShardingPlan, "wrap">>;

/** Returns over how many ranks a plan shards: all, or with replicas fewer. */
export function shardRanks({ worldSize, replicas = 1 }: Pick<ShardingPlan, "worldSize" | "replicas">): number {
  return worldSize / replicas;
}

/** Returns which of the shards the plan's rank holds: of HSDP, ranks that follow each other shard, and those further apart replicate. */
export function shardRank(plan: Pick<ShardingPlan, "worldSize" | "replicas" | "rank">): number {
  return (plan.rank ?? 0) % shardRanks(plan);
}

/** More than any cluster has. */
const mostRanks = 2 ** 20;

/**
 * Refuses a plan that makes no sense by itself.
 *
 * @throws RematError `SHARDING_PLAN`
 */
export function checkShardingPlan(plan: ShardingPlan): void {
  const { worldSize, replicas = 1, rank = 0, groups = [] } = plan;
  if (!Number.isInteger(worldSize) || worldSize < 1)
    throw planError(
      `expected a world size of at least 1, found ${worldSize}. Say over how many ranks to shard: world=8.`,
    );
  if (worldSize > mostRanks)
    throw planError(`expected a world size of at most ${mostRanks}, found ${worldSize}. Use the number of your GPUs.`);
  if (!Number.isInteger(replicas) || replicas < 1 || worldSize % replicas !== 0)
    throw planError(
      `expected replicas that divide the ${worldSize} ranks, found ${replicas}: world=8,replicas=2 shards over 4 ranks, twice.`,
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
    if (group.modules.length === 0) throw planError("a group names no modules: expected at least one, or a pattern.");
    checkPolicy(group, shardRanks(plan));
  }
  for (const { modules, save, scope } of plan.checkpoint ?? [])
    if (modules.length === 0 && save === undefined && scope === undefined)
      throw planError("what is checkpointed names no modules: expected at least one, or a pattern.");
  for (const [what, prefetch] of [
    ["forward", plan.forwardPrefetch],
    ["backward", plan.backwardPrefetch],
  ] as const)
    if (typeof prefetch === "number" && !(Number.isInteger(prefetch) && prefetch >= 0))
      throw planError(`expected how many groups to prefetch in the ${what} pass, from 0 up, found ${prefetch}.`);
}

/** What `fully_shard` is told, by the names of text. */
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
        "bucket= and bucket-view are of ddp and zero=1: FSDP reduces group by group. Add ddp, or leave them out.",
      );
    return;
  }
  if (bucketBytes !== undefined && !(bucketBytes >= 1))
    throw planError(`expected buckets of at least a byte, found ${bucketBytes}.`);
  for (const [field, text] of Object.entries(ofFsdp))
    if (plan[field as keyof typeof ofFsdp] !== undefined)
      throw planError(`${text} is of FSDP, and the plan says ${strategy}: leave one of them out.`);
  if ((plan.wrap?.length ?? 0) > 0)
    throw planError(`wrap= is of FSDP, and the plan says ${strategy}: leave one of them out.`);
}

function checkStored({ storedDtype, mixedPrecision, groups = [] }: ShardingPlan): void {
  if (storedDtype === undefined) return;
  if (!floatDtypes.includes(storedDtype))
    throw planError(`expected stored=${floatDtypes.join(", ")}, found ${JSON.stringify(storedDtype)}.`);
  const others = groups.some((group) => group.mixedPrecision !== undefined);
  if (mixedPrecision?.param === undefined || others)
    throw planError(
      "stored= is of a run in the lower dtype that all groups compute in: say which that is once, world=8,bf16,stored=float32.",
    );
}

function checkOwnCasts({ ownCasts = [], storedDtype }: ShardingPlan): void {
  const unknown = ownCasts.find((each) => !ownCastKinds.includes(each));
  if (unknown !== undefined)
    throw planError(
      `expected own-casts= of ${ownCastKinds.join(", ")}, found ${JSON.stringify(unknown)}; of none: own-casts= alone.`,
    );
  if (ownCasts.length > 0 && storedDtype !== undefined)
    throw planError(
      "own-casts= is of a run in float32, and stored= of one that shows what is cast: leave one of them out.",
    );
}

function checkPolicy({ reshardAfterForward, mixedPrecision = {} }: GroupPolicy, ranks: number): void {
  if (typeof reshardAfterForward === "number") {
    const size = reshardAfterForward;
    if (!Number.isInteger(size) || size < 1 || ranks % size !== 0)
      throw planError(
        `expected to reshard to a number of ranks that divides the ${ranks} of a shard, found ${size}; reshard alone is all of them.`,
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

/** Returns bytes of one element, 4 for a dtype that is not known. */
export function elementBytes(dtype: string): number {
  return bytesPerElement(dtype) ?? 4;
}

export function planError(detail: string): RematError {
  return new RematError("SHARDING_PLAN", `sharding plan: ${detail}`);
}
