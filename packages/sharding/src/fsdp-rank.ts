import { type CallIndex, Category, FsdpHook, type ModuleIndex, Phase, type StorageIndex } from "@remat/trace";
import { reduceDtypeOf } from "./dtypes-of-units.js";
import type { GroupState } from "./group-state.js";
import { type GroupParameter, reshardsAfterForward } from "./parameter-groups.js";
import type { Prefetches } from "./prefetches.js";
import type { NewStorage, RankTrace } from "./rank-trace.js";
import { elementBytes, type ShardingPlan, shardRanks } from "./sharding-plan.js";
import type { StreamWork } from "./stream-work.js";

/**
 * The bytes that a rank receives per step, with ring algorithms. With n ranks, an all-gather or reduce-scatter moves (n
 * − 1)/n of its buffer, and an all-reduce twice that.
 */
export interface Communication {
  readonly allGatherBytes: number;
  readonly reduceScatterBytes: number;
  readonly allReduceBytes: number;
}

/**
 * Simulates the memory of one rank under FSDP2, step by step.
 *
 * Parameters are all-gathered with copy-in and copy-out. In the forward pass, one all-gathered buffer stays allocated
 * until the next group has copied its parameters out. The backward pass prefetches the previous group. Gradients are
 * reduced in the reduction dtype, and one input buffer stays allocated until the next reduction.
 *
 * Source: `_fsdp_param_group.py`, `_fsdp_collectives.py` and `_fsdp_state.py` of `torch/distributed/fsdp/_fully_shard`,
 * PyTorch 2.13.
 *
 * @internal
 */
export class FsdpRank {
  readonly groups: readonly GroupState[];
  private readonly out: RankTrace;
  private readonly plan: ShardingPlan;
  private readonly root: number;
  /** The number of ranks over which a parameter is sharded. */
  private readonly ranks: number;
  private readonly prefetches: Prefetches;
  /** The buffer of the last all-gather of the forward pass. */
  private held: number | undefined;
  private readonly reduceInputs: number[] = [];
  /** The group that is recomputed first, among the groups inside a checkpointed region. */
  private recomputing: GroupState | undefined;
  /** The bytes that the rank receives, by collective. */
  readonly received: Record<keyof Communication, number> = {
    allGatherBytes: 0,
    reduceScatterBytes: 0,
    allReduceBytes: 0,
  };
  /** The work in addition to the ops of the model. */
  readonly work: StreamWork[] = [];
  private readonly forwardOrder: GroupState[] = [];

  constructor(out: RankTrace, plan: ShardingPlan, groups: readonly GroupState[], root: number, prefetches: Prefetches) {
    this.out = out;
    this.plan = plan;
    this.root = root;
    this.ranks = shardRanks(plan);
    this.groups = groups;
    this.prefetches = prefetches;
  }

  /** Allocates the shards, which exist from the start. */
  allocateShards(): void {
    const device = this.plan.cpuOffload ? this.out.offloadDevice : undefined;
    for (const state of this.groups)
      for (const p of state.group.parameters) {
        const storage = this.out.allocate(p.shardBytes, device, Category.shardedParameter);
        this.out.builder.tensor({ storage, dtype: p.dtype, shape: [p.shard.elements] });
        state.shards.push(storage);
      }
  }

  /**
   * Allocates the parameters that the backward pass of the previous step leaves unsharded. With offload, the simulated
   * step is the first step of training. It needs at least as much device memory as later steps: optimizer states are on
   * the host, and the first step has additional all-gathers.
   */
  gatherFromBefore(): void {
    if (this.plan.reshardAfterBackward !== false || this.plan.cpuOffload) return;
    for (const state of this.groups) {
      if (this.prefetches.keptSharded.has(state)) continue;
      for (const p of state.group.parameters)
        state.gathered.push(this.out.allocate(p.gatheredBytes, undefined, Category.unshardedParameter));
      state.isGathered = true;
    }
  }

  /** Frees the shard of a parameter whose storage is freed, because an update has replaced it. */
  freeShard(parameterStorage: number): void {
    for (const { group, shards } of this.groups) {
      const at = group.parameters.findIndex(({ storage }) => storage === parameterStorage);
      if (at >= 0) this.out.free(shards[at]);
    }
  }

  preForward(state: GroupState, module: ModuleIndex, call: CallIndex, phase: number, castInputs: () => void): void {
    const hook = (point: number): void => this.out.builder.fsdpHook(call, phase, point);
    hook(FsdpHook.preForwardBegin);
    castInputs();
    // Recomputation for the group's own backward pass finds the parameters unsharded, unless another call has resharded
    // them.
    const during = phase === Phase.forward ? phase : Phase.backward;
    const isForward = isForwardOf(state, phase);
    const isFirst = isForward && state.training !== "forward";
    if (isFirst) {
      state.training = "forward";
      if (phase === Phase.forward) state.first = module;
      else this.recomputing ??= state;
    }
    if (isForward && state.toRun.size === 0)
      for (const each of this.plan.asTracked ? [module] : state.group.modules) state.toRun.add(each);
    if (module === this.root && phase === Phase.forward) this.put({ kind: "begin" });
    this.unshard(state, call, during);
    this.waitForUnshard(state, call, during, isForward);
    for (const storage of state.gathered) this.out.builder.categorize(storage, Category.unshardedParameter);
    if (isFirst) for (const target of this.prefetches.forward.get(state) ?? []) this.unshard(target, call, during);
    hook(FsdpHook.preForwardEnd);
  }

  postForward(state: GroupState, module: ModuleIndex, call: CallIndex, phase: number): void {
    this.out.builder.fsdpHook(call, phase, FsdpHook.postForwardBegin);
    // The forward pass of a group of several modules is over when all of them have run.
    if (isForwardOf(state, phase) && state.toRun.delete(module) && state.toRun.size === 0) {
      if (phase === Phase.recompute) this.completeRecomputation(state);
      else this.completeForward(state, module, call);
      if (module === this.root) this.endForward(call);
    }
    this.out.builder.fsdpHook(call, phase, FsdpHook.postForwardEnd);
  }

  private completeForward(state: GroupState, module: ModuleIndex, call: CallIndex): void {
    this.reshardAfterForward(state, call);
    state.forwardIndices.push(this.forwardOrder.push(state) - 1);
    state.training = "idle";
    state.last = module;
  }

  /**
   * Ends a recomputed forward pass. The group stays unsharded for the backward pass that follows. The group whose
   * recomputation began first frees the last buffer, as the root does in the forward pass.
   */
  private completeRecomputation(state: GroupState): void {
    state.training = "idle";
    if (this.recomputing !== state) return;
    this.recomputing = undefined;
    this.freeHeld();
  }

  /** Ends the forward pass of the root. */
  endForward(call: CallIndex): void {
    // Groups with modules that did not run are complete too.
    for (const state of this.groups.toReversed())
      if (state.toRun.size > 0) {
        state.toRun.clear();
        this.completeForward(state, state.last, call);
      }
    this.freeHeld();
  }

  private freeHeld(): void {
    if (this.held !== undefined) this.out.free(this.held);
    this.held = undefined;
  }

  /**
   * Runs the hooks before the backward pass of a group.
   *
   * @param hooked the calls of the modules whose hooks are recorded
   */
  preBackward(state: GroupState, call: CallIndex, hooked: readonly number[]): void {
    for (const each of hooked.toReversed()) this.out.builder.fsdpHook(each, Phase.backward, FsdpHook.preBackwardBegin);
    const targets = this.prefetches.backward.get(state);
    if (state.training !== "preBackward") {
      state.training = "preBackward";
      this.unshard(state, call, Phase.backward);
      this.waitForUnshard(state, call, Phase.backward, false);
      const index = targets === undefined ? state.forwardIndices.pop() : undefined;
      if (index !== undefined && index > 0) this.unshard(this.forwardOrder[index - 1], call, Phase.backward);
    }
    for (const each of hooked) this.out.builder.fsdpHook(each, Phase.backward, FsdpHook.preBackwardEnd);
    // The original tracker counts parameters that are all-gathered after the group's own hook as other temporaries.
    const category = this.plan.asTracked ? Category.temporary : Category.allGather;
    for (const target of targets ?? []) this.unshard(target, call, Phase.backward, category);
  }

  /**
   * Runs the hooks after the backward pass of a group.
   *
   * @param reduces false if gradients of a later backward pass are to be added first
   */
  postBackward(state: GroupState, call: CallIndex, hooked: readonly number[], reduces: boolean): void {
    const { out } = this;
    state.training = "postBackward";
    for (const { storage } of state.gradients) out.builder.categorize(storage, Category.unshardedGradient);
    for (const each of hooked.toReversed()) out.builder.fsdpHook(each, Phase.backward, FsdpHook.postBackwardBegin);
    if (this.plan.reshardAfterBackward !== false) this.reshard(state);
    let last: number | undefined;
    if (reduces) {
      const oldest = this.reduceInputs.shift();
      if (oldest !== undefined) {
        this.put({ kind: "awaitReduction" });
        out.free(oldest);
      }
      last = state.gradients.length > 0 ? this.reduce(state, call) : undefined;
    } else this.keepUnreduced(state, call);
    for (const storage of new Set(state.shardedGradients.values()))
      if (out.isLive(storage)) out.builder.categorize(storage, Category.shardedGradient);
    for (const each of hooked) out.builder.fsdpHook(each, Phase.backward, FsdpHook.postBackwardEnd);
    if (last !== undefined) out.free(last);
  }

  /** Ends the backward pass: reduces the gradients of groups whose inputs had no gradient, and frees buffers. */
  endBackward(
    hookedBy: (state: GroupState) => readonly [number, readonly number[]] | undefined,
    reduces: boolean,
  ): void {
    for (const state of this.groups) {
      const hooked = hookedBy(state);
      if (hooked !== undefined && (state.training !== "postBackward" || (reduces && state.gradients.length > 0)))
        this.out.outsideModules(() => this.postBackward(state, ...hooked, reduces));
      state.training = "idle";
      state.toRun.clear();
      if (state.pending !== undefined && state.pending >= 0) this.out.free(state.pending);
      state.pending = undefined;
      if (state.allReduced !== undefined) this.out.free(state.allReduced);
      state.allReduced = undefined;
      state.forwardIndices.length = 0;
    }
    this.forwardOrder.length = 0;
    for (const storage of this.reduceInputs.splice(0)) this.out.free(storage);
    this.put({ kind: "join" });
    this.recomputing = undefined;
    this.freeHeld();
  }

  private put(work: WithoutOp<StreamWork>): void {
    this.work.push({ ...work, op: this.out.builder.opCount });
  }

  private unshard(state: GroupState, call: CallIndex, phase: number, category: number = Category.allGather): void {
    if (state.pending !== undefined || state.isGathered) return;
    if (phase === Phase.backward && this.prefetches.keptSharded.has(state)) return;
    const { out } = this;
    const { parameters } = state.group;
    const ranks = state.postForward.length > 0 ? this.postForwardRanks(state) : this.ranks;
    const hostBytes = this.plan.cpuOffload && state.postForward.length === 0 ? sum(parameters, (p) => p.shardBytes) : 0;
    const gathered = sum(parameters, (p) => p.gatheredBytes);
    this.put({ kind: "gather", group: this.groups.indexOf(state), bytes: gathered, ranks, hostBytes });
    if (ranks === 1) {
      state.pending = -1;
      return;
    }
    const copies = this.copyIn(state, call, phase);
    const elements = sum(parameters, (p) => p.shard.paddedElements) * this.ranks;
    const [buffer] = out.fsdpOp("fsdp.all_gather_copy_in", phase, call, [
      { bytes: gathered, dtype: parameters[0].gatheredDtype, shape: [elements] },
    ]);
    out.builder.categorize(buffer, category);
    out.fsdpOp("c10d._allgather_base_", phase, call);
    this.received.allGatherBytes += (gathered * (ranks - 1)) / ranks;
    for (const storage of copies) out.free(storage);
    state.pending = buffer;
  }

  /** Writes copies of the shards for the collective, on the device and in the dtype of the all-gather. */
  private copyIn(state: GroupState, call: CallIndex, phase: number): number[] {
    const { out, plan } = this;
    const { parameters } = state.group;
    const isPostForward = state.postForward.length > 0;
    if (plan.cpuOffload && isPostForward) return [];
    if (plan.cpuOffload) return parameters.map((p) => this.copyToDevice(p, call, phase));
    const cast = parameters.filter((p) => p.gatheredDtype !== p.dtype);
    if (cast.length === 0) return [];
    const whole = sum(cast, (p) => p.shard.paddedElements);
    const elements = isPostForward ? (whole * this.ranks) / this.postForwardRanks(state) : whole;
    const dtype = cast[0].gatheredDtype;
    return out.fsdpOp("aten._foreach_copy_", phase, call, [
      { bytes: elements * elementBytes(dtype), dtype, shape: [elements] },
    ]);
  }

  private copyToDevice(p: GroupParameter, call: CallIndex, phase: number): number {
    const shape = [p.shard.paddedElements];
    const [copy] = this.out.fsdpOp("aten._to_copy", phase, call, [{ bytes: p.shardBytes, dtype: p.dtype, shape }]);
    if (p.gatheredDtype === p.dtype) return copy;
    const bytes = p.shard.paddedElements * elementBytes(p.gatheredDtype);
    const [cast] = this.out.fsdpOp("aten._to_copy", phase, call, [{ bytes, dtype: p.gatheredDtype, shape }]);
    this.out.free(copy);
    return cast;
  }

  /**
   * Waits for an all-gather and copies the parameters out.
   *
   * @param keepsBuffer whether the all-gathered buffer stays allocated until the next one, as in forward passes
   */
  private waitForUnshard(state: GroupState, call: CallIndex, phase: number, keepsBuffer: boolean): void {
    if (state.pending === undefined) return;
    const { out } = this;
    const previous = keepsBuffer ? this.held : undefined;
    if (keepsBuffer) this.held = undefined;
    const { parameters } = state.group;
    const buffer = state.pending;
    state.pending = undefined;
    this.put({ kind: "use", group: this.groups.indexOf(state), bytes: sum(parameters, (p) => p.gatheredBytes) });
    if (buffer < 0) this.copyAlone(state, call, phase);
    else {
      parameters.forEach((_, i) => {
        this.allocateGathered(state, i, call, phase);
      });
      out.fsdpOp("fsdp.split_with_sizes_copy", phase, call);
    }
    state.isGathered = true;
    for (const storage of state.postForward.splice(0)) out.free(storage);
    if (keepsBuffer && buffer >= 0) this.held = buffer;
    else if (buffer >= 0) out.free(buffer);
    if (previous !== undefined) out.free(previous);
  }

  /** Allocates an unsharded parameter: a new storage the first time, and the freed storage again later. */
  private allocateGathered(state: GroupState, i: number, call: CallIndex, phase: number): void {
    const p = state.group.parameters[i];
    if (i < state.gathered.length) return this.out.builder.resize(state.gathered[i], p.gatheredBytes);
    state.gathered.push(...this.out.fsdpOp("aten.empty", phase, call, [gatheredResult(p)]));
  }

  /** Copies each parameter without a collective if there is one rank, casting it first if necessary. */
  private copyAlone(state: GroupState, call: CallIndex, phase: number): void {
    const { out, plan } = this;
    let previous: number | undefined;
    state.group.parameters.forEach((p, i) => {
      let cast: number | undefined;
      if (plan.cpuOffload) cast = this.copyToDevice(p, call, phase);
      else if (p.gatheredDtype !== p.dtype) [cast] = out.fsdpOp("aten._to_copy", phase, call, [gatheredResult(p)]);
      if (previous !== undefined) out.free(previous);
      previous = cast;
      this.allocateGathered(state, i, call, phase);
      out.fsdpOp("aten.copy_", phase, call);
    });
    if (previous !== undefined) out.free(previous);
  }

  private reshard(state: GroupState): void {
    if (!state.isGathered) return;
    state.isGathered = false;
    this.put({ kind: "reshard", group: this.groups.indexOf(state) });
    for (const storage of state.gathered) this.out.builder.resize(storage, 0);
  }

  private reshardAfterForward(state: GroupState, call: CallIndex): void {
    const reshardAfterForward = reshardsAfterForward(state.group, this.root);
    if (reshardAfterForward === false) return;
    if (typeof reshardAfterForward === "number" && reshardAfterForward < this.ranks && state.isGathered) {
      state.group.parameters.forEach((p, i) => {
        const elements = (p.shard.paddedElements * this.ranks) / reshardAfterForward;
        const bytes = p.gatheredBytes / reshardAfterForward;
        const kept = [{ bytes, dtype: p.gatheredDtype, shape: [elements] }];
        state.postForward.push(...this.out.fsdpOp("aten.clone", Phase.forward, call, kept));
        this.out.builder.resize(state.gathered[i], 0);
      });
      state.isGathered = false;
      this.put({ kind: "reshard", group: this.groups.indexOf(state) });
    } else this.reshard(state);
  }

  private postForwardRanks({ group }: GroupState): number {
    return Number(group.policy.reshardAfterForward);
  }

  /**
   * Keeps the gradients of a backward pass without a reduction, in the dtype of the reduction. The next pass adds to
   * them.
   */
  private keepUnreduced(state: GroupState, call: CallIndex): void {
    const reduce = reduceDtypeOf(state.group);
    if (reduce === undefined) return;
    this.addToUnreduced(state, call);
    state.gradients.forEach((waiting, i) => {
      if (waiting.isInReduceDtype) return;
      const { parameter } = waiting;
      const [storage] = this.out.fsdpOp("aten._to_copy", Phase.backward, call, [
        { bytes: parameter.elements * elementBytes(reduce), dtype: reduce, shape: parameter.shape },
      ]);
      this.out.free(waiting.storage);
      state.gradients[i] = { storage, parameter, isInReduceDtype: true };
    });
  }

  /** Reduces the waiting gradients, and returns the only storage that is still allocated after the reduction. */
  private reduce(state: GroupState, call: CallIndex): number | undefined {
    const { out, ranks } = this;
    const phase = Phase.backward;
    const order = (p: GroupParameter): number => state.group.parameters.indexOf(p);
    if (state.allReduced !== undefined) out.free(state.allReduced);
    state.allReduced = undefined;
    this.addToUnreduced(state, call);
    state.gradients.sort((a, b) => order(a.parameter) - order(b.parameter));
    const reduced = state.gradients.map(({ parameter }) => parameter);
    const original = reduced[0].dtype;
    const dtype = reduceDtypeOf(state.group) ?? reduced[0].gatheredDtype;
    const elements = sum(reduced, (p) => p.shard.paddedElements);
    this.put({
      kind: "reduce",
      group: this.groups.indexOf(state),
      bytes: elements * ranks * elementBytes(dtype),
      ranks,
      replicas: this.plan.replicas ?? 1,
      hostBytes: this.plan.cpuOffload ? elements * elementBytes(original) : 0,
    });
    const inputShape = [elements * ranks];
    const [input] = out.fsdpOp("fsdp.chunk_cat", phase, call, [
      { bytes: elements * ranks * elementBytes(dtype), dtype, shape: inputShape },
    ]);
    // In the original, a loop variable keeps the gradient of the last parameter alive until the end.
    const last = state.gradients.find(({ parameter }) => parameter === state.group.parameters.at(-1))?.storage;
    for (const { storage } of state.gradients.splice(0)) if (storage !== last) out.free(storage);
    const [output] = out.fsdpOp("aten.empty", phase, call, [
      { bytes: elements * elementBytes(dtype), dtype, shape: [elements] },
    ]);
    if (ranks > 1) {
      out.builder.categorize(input, Category.reduceScatter);
      out.fsdpOp("c10d._reduce_scatter_base_", phase, call);
      this.received.reduceScatterBytes += elements * (ranks - 1) * elementBytes(dtype);
    } else out.fsdpOp("aten.copy_", phase, call);
    this.reduceInputs.push(input);
    const { replicas = 1 } = this.plan;
    if (replicas > 1) {
      out.fsdpOp("c10d.allreduce_", phase, call);
      this.received.allReduceBytes += (2 * elements * elementBytes(dtype) * (replicas - 1)) / replicas;
    }
    if (dtype !== original) {
      const [cast] = out.fsdpOp("aten._to_copy", phase, call, [
        { bytes: elements * elementBytes(original), dtype: original, shape: [elements] },
      ]);
      this.freeReduced(state, output);
      this.keepShardedGradients(state, reduced, cast, call, () => out.free(cast));
    } else this.keepShardedGradients(state, reduced, output, call, () => this.freeReduced(state, output));
    return last;
  }

  /** Adds the gradients of this pass to the kept ones, in the dtype of the reduction. */
  private addToUnreduced(state: GroupState, call: CallIndex): void {
    const kept = state.gradients.filter(({ isInReduceDtype }) => isInReduceDtype);
    if (kept.length === 0) return;
    for (const waiting of state.gradients) {
      if (waiting.isInReduceDtype) continue;
      if (kept.some(({ parameter }) => parameter === waiting.parameter)) {
        this.out.fsdpOp("aten.add_", Phase.backward, call);
        this.out.free(waiting.storage);
      } else kept.push(waiting);
    }
    state.gradients.splice(0, state.gradients.length, ...kept);
  }

  private keepShardedGradients(
    state: GroupState,
    reduced: readonly GroupParameter[],
    output: number,
    call: CallIndex,
    free: () => void,
  ): void {
    const { out } = this;
    const phase = Phase.backward;
    const { shardedGradients } = state;
    let isKept = false;
    for (const parameter of reduced) {
      const known = shardedGradients.get(parameter);
      const accumulates = known !== undefined && out.isLive(known);
      let gradient = output;
      if (this.plan.cpuOffload)
        [gradient] = out.fsdpOp("aten._to_copy", phase, call, [
          {
            bytes: parameter.shard.elements * elementBytes(parameter.dtype),
            dtype: parameter.dtype,
            shape: [parameter.shard.elements],
            device: out.offloadDevice,
          },
        ]);
      if (accumulates) {
        out.fsdpOp("aten.add_", phase, call);
        if (this.plan.cpuOffload) out.free(gradient);
        continue;
      }
      shardedGradients.set(parameter, gradient);
      isKept ||= gradient === output;
    }
    if (!isKept) free();
  }

  /**
   * Frees the result of a reduction. Under HSDP it is kept until the next reduction, so that its memory is not reused
   * during the all-reduce over the replicas.
   */
  private freeReduced(state: GroupState, storage: StorageIndex): void {
    if ((this.plan.replicas ?? 1) > 1) state.allReduced = storage;
    else this.out.free(storage);
  }
}

/** A kind of work without its place in the trace. */
type WithoutOp<T> = T extends unknown ? Omit<T, "op"> : never;

/**
 * Returns whether a group is in a forward pass. A group inside a region that is recomputed for another group's backward
 * pass has a forward pass of its own.
 */
function isForwardOf(state: GroupState, phase: number): boolean {
  return phase === Phase.forward || (phase === Phase.recompute && state.training !== "preBackward");
}

function gatheredResult(p: GroupParameter): NewStorage {
  return { bytes: p.gatheredBytes, dtype: p.gatheredDtype, shape: p.shape };
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  let total = 0;
  for (const item of items) total += of(item);
  return total;
}
