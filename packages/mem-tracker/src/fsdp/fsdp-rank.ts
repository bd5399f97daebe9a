import { Category, FsdpHook, Phase } from "@remat/trace";
import { GroupState } from "./group-state.js";
import type { GroupParameter, ParameterGroup } from "./parameter-groups.js";
import type { NewStorage, RankTrace } from "./rank-trace.js";
import { elementBytes, type ShardingPlan } from "./sharding-plan.js";

/**
 * What FSDP2 does to memory on one rank, step by step: gathering with copy-in and copy-out, one gathered buffer kept in the forward pass
 * until the next group has copied its own out, prefetching of the group before in the backward pass, reduction in the reduction dtype with
 * one input buffer kept until the next.
 *
 * Source: `_fsdp_param_group.py`, `_fsdp_collectives.py` and `_fsdp_state.py` of `torch/distributed/fsdp/_fully_shard`, PyTorch 2.13.
 * @internal
 */
export class FsdpRank {
  readonly groups: readonly GroupState[];
  private readonly out: RankTrace;
  private readonly plan: ShardingPlan;
  private readonly root: number;
  /** Buffer of the last all-gather of the forward pass. */
  private held: number | undefined;
  private readonly reduceInputs: number[] = [];
  private readonly forwardOrder: GroupState[] = [];

  constructor(out: RankTrace, plan: ShardingPlan, groups: readonly ParameterGroup[], root: number) {
    this.out = out;
    this.plan = plan;
    this.root = root;
    this.groups = groups.map((group) => new GroupState(group));
  }

  /** The shards, which are there from the start. */
  allocateShards(): void {
    const device = this.plan.cpuOffload ? this.out.offloadDevice : undefined;
    for (const state of this.groups)
      for (const p of state.group.parameters) {
        const storage = this.out.allocate(p.shardBytes, device, Category.shardedParameter);
        this.out.builder.tensor({ storage, dtype: p.dtype, shape: [p.shard.elements] });
        state.shards.push(storage);
      }
  }

  /** The storage of a parameter is freed: an update has put a new one in its place. */
  freeShard(parameterStorage: number): void {
    for (const { group, shards } of this.groups) {
      const at = group.parameters.findIndex(({ storage }) => storage === parameterStorage);
      if (at >= 0) this.out.free(shards[at]);
    }
  }

  preForward(state: GroupState, call: number, phase: number, castInputs: () => void): void {
    const hook = (point: number): void => this.out.builder.fsdpHook(call, phase, point);
    hook(FsdpHook.preForwardBegin);
    castInputs();
    if (phase === Phase.forward) state.training = "forward";
    // In recomputation the parameters are there already, unless another call's backward pass has resharded them.
    const during = phase === Phase.forward ? phase : Phase.backward;
    this.unshard(state, call, during);
    this.waitForUnshard(state, call, during);
    for (const storage of state.gathered) this.out.builder.categorize(storage, Category.unshardedParameter);
    hook(FsdpHook.preForwardEnd);
  }

  postForward(state: GroupState, call: number, phase: number): void {
    this.out.builder.fsdpHook(call, phase, FsdpHook.postForwardBegin);
    if (phase === Phase.forward) {
      const keeps = this.plan.reshardAfterForward === undefined && state.group.module === this.root;
      if (this.plan.reshardAfterForward !== false && !keeps) this.reshard(state);
      state.forwardIndices.push(this.forwardOrder.push(state) - 1);
      state.training = "idle";
      if (state.group.module === this.root) this.endForward();
    }
    this.out.builder.fsdpHook(call, phase, FsdpHook.postForwardEnd);
  }

  /** The root's forward pass is over. */
  endForward(): void {
    if (this.held !== undefined) this.out.free(this.held);
    this.held = undefined;
  }

  preBackward(state: GroupState, call: number): void {
    this.out.builder.fsdpHook(call, Phase.backward, FsdpHook.preBackwardBegin);
    if (state.training !== "preBackward") {
      state.training = "preBackward";
      this.unshard(state, call, Phase.backward);
      this.waitForUnshard(state, call, Phase.backward);
      const index = state.forwardIndices.pop();
      if (index !== undefined && index > 0) this.unshard(this.forwardOrder[index - 1], call, Phase.backward);
    }
    this.out.builder.fsdpHook(call, Phase.backward, FsdpHook.preBackwardEnd);
  }

  postBackward(state: GroupState, call: number): void {
    const { out } = this;
    state.training = "postBackward";
    for (const { storage } of state.gradients) out.builder.categorize(storage, Category.unshardedGradient);
    out.builder.fsdpHook(call, Phase.backward, FsdpHook.postBackwardBegin);
    this.reshard(state);
    const oldest = this.reduceInputs.shift();
    if (oldest !== undefined) out.free(oldest);
    const last = state.gradients.length > 0 ? this.reduce(state, call) : undefined;
    for (const storage of state.shardedGradients.values())
      if (out.isLive(storage)) out.builder.categorize(storage, Category.shardedGradient);
    out.builder.fsdpHook(call, Phase.backward, FsdpHook.postBackwardEnd);
    if (last !== undefined) out.free(last);
  }

  /** The end of the backward pass: groups whose inputs had no gradient are reduced now, and buffers given back. */
  endBackward(callOf: (state: GroupState) => number | undefined): void {
    for (const state of this.groups) {
      const call = callOf(state);
      if (call !== undefined && (state.training !== "postBackward" || state.gradients.length > 0))
        this.out.outsideModules(() => this.postBackward(state, call));
      state.training = "idle";
      if (state.pending !== undefined && state.pending >= 0) this.out.free(state.pending);
      state.pending = undefined;
      state.forwardIndices.length = 0;
    }
    this.forwardOrder.length = 0;
    for (const storage of this.reduceInputs.splice(0)) this.out.free(storage);
  }

  private unshard(state: GroupState, call: number, phase: number): void {
    if (state.pending !== undefined || state.isGathered) return;
    const { out, plan } = this;
    if (plan.worldSize === 1) {
      state.pending = -1;
      return;
    }
    const { parameters } = state.group;
    const copies = this.copyIn(parameters, call, phase);
    const elements = sum(parameters, (p) => p.shard.paddedElements) * plan.worldSize;
    const bytes = sum(parameters, (p) => p.gatheredBytes);
    const [buffer] = out.fsdpOp("fsdp.all_gather_copy_in", phase, call, [
      { bytes, dtype: parameters[0].gatheredDtype, shape: [elements] },
    ]);
    out.builder.categorize(buffer, Category.allGather);
    out.fsdpOp("c10d._allgather_base_", phase, call);
    for (const storage of copies) out.free(storage);
    state.pending = buffer;
  }

  /** Copies of the shards for the collective: on the device, and in the dtype that is gathered. */
  private copyIn(parameters: readonly GroupParameter[], call: number, phase: number): number[] {
    const { out, plan } = this;
    if (plan.cpuOffload) return parameters.map((p) => this.copyToDevice(p, call, phase));
    const cast = parameters.filter((p) => p.gatheredDtype !== p.dtype);
    if (cast.length === 0) return [];
    const elements = sum(cast, (p) => p.shard.paddedElements);
    const dtype = cast[0].gatheredDtype;
    return out.fsdpOp("aten._foreach_copy_", phase, call, [
      { bytes: elements * elementBytes(dtype), dtype, shape: [elements] },
    ]);
  }

  private copyToDevice(p: GroupParameter, call: number, phase: number): number {
    const shape = [p.shard.paddedElements];
    const [copy] = this.out.fsdpOp("aten._to_copy", phase, call, [{ bytes: p.shardBytes, dtype: p.dtype, shape }]);
    if (p.gatheredDtype === p.dtype) return copy;
    const bytes = p.shard.paddedElements * elementBytes(p.gatheredDtype);
    const [cast] = this.out.fsdpOp("aten._to_copy", phase, call, [{ bytes, dtype: p.gatheredDtype, shape }]);
    this.out.free(copy);
    return cast;
  }

  private waitForUnshard(state: GroupState, call: number, phase: number): void {
    if (state.pending === undefined) return;
    const { out } = this;
    const previous = phase === Phase.forward ? this.held : undefined;
    if (phase === Phase.forward) this.held = undefined;
    const { parameters } = state.group;
    const buffer = state.pending;
    state.pending = undefined;
    if (buffer < 0) this.copyAlone(state, call, phase);
    else {
      parameters.forEach((_, i) => {
        this.allocateGathered(state, i, call, phase);
      });
      out.fsdpOp("fsdp.split_with_sizes_copy", phase, call);
    }
    state.isGathered = true;
    if (phase === Phase.forward && buffer >= 0) this.held = buffer;
    else if (buffer >= 0) out.free(buffer);
    if (previous !== undefined) out.free(previous);
  }

  /** Space for a gathered parameter: new the first time, later what was given back. */
  private allocateGathered(state: GroupState, i: number, call: number, phase: number): void {
    const p = state.group.parameters[i];
    if (i < state.gathered.length) return this.out.builder.resize(state.gathered[i], p.gatheredBytes);
    state.gathered.push(...this.out.fsdpOp("aten.empty", phase, call, [gatheredResult(p)]));
  }

  /** With one rank there is no collective: each parameter is copied by itself, cast before where it must be. */
  private copyAlone(state: GroupState, call: number, phase: number): void {
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
    for (const storage of state.gathered) this.out.builder.resize(storage, 0);
  }

  /** Reduces the waiting gradients; returns the one storage that is still held when the reduction is over. */
  private reduce(state: GroupState, call: number): number | undefined {
    const { out, plan } = this;
    const { worldSize } = plan;
    const phase = Phase.backward;
    const order = (p: GroupParameter): number => state.group.parameters.indexOf(p);
    state.gradients.sort((a, b) => order(a.parameter) - order(b.parameter));
    const reduced = state.gradients.map(({ parameter }) => parameter);
    const original = reduced[0].dtype;
    const dtype = plan.mixedPrecision?.reduce ?? reduced[0].gatheredDtype;
    const elements = sum(reduced, (p) => p.shard.paddedElements);
    const inputShape = [elements * worldSize];
    const [input] = out.fsdpOp("fsdp.chunk_cat", phase, call, [
      { bytes: elements * worldSize * elementBytes(dtype), dtype, shape: inputShape },
    ]);
    // Upstream's loop variable holds the last gradient until the reduction returns.
    const storages = state.gradients.splice(0).map(({ storage }) => storage);
    const last = storages.pop();
    for (const storage of storages) out.free(storage);
    let [output] = out.fsdpOp("aten.empty", phase, call, [
      { bytes: elements * elementBytes(dtype), dtype, shape: [elements] },
    ]);
    if (worldSize > 1) {
      out.builder.categorize(input, Category.reduceScatter);
      out.fsdpOp("c10d._reduce_scatter_base_", phase, call);
    } else out.fsdpOp("aten.copy_", phase, call);
    this.reduceInputs.push(input);
    if (dtype !== original) {
      const [cast] = out.fsdpOp("aten._to_copy", phase, call, [
        { bytes: elements * elementBytes(original), dtype: original, shape: [elements] },
      ]);
      out.free(output);
      output = cast;
    }
    this.keepShardedGradients(state, reduced, output, call);
    return last;
  }

  private keepShardedGradients(
    state: GroupState,
    reduced: readonly GroupParameter[],
    output: number,
    call: number,
  ): void {
    const { out } = this;
    const phase = Phase.backward;
    const keys = this.plan.cpuOffload ? reduced : [undefined];
    for (const key of keys) {
      const known = state.shardedGradients.get(key);
      const accumulates = known !== undefined && out.isLive(known);
      let gradient = output;
      if (key !== undefined)
        [gradient] = out.fsdpOp("aten._to_copy", phase, call, [
          {
            bytes: key.shard.elements * elementBytes(key.dtype),
            dtype: key.dtype,
            shape: [key.shard.elements],
            device: out.offloadDevice,
          },
        ]);
      if (!accumulates) state.shardedGradients.set(key, gradient);
      else {
        out.fsdpOp("aten.add_", phase, call);
        out.free(gradient);
      }
    }
    if (this.plan.cpuOffload) out.free(output);
  }
}

function gatheredResult(p: GroupParameter): NewStorage {
  return { bytes: p.gatheredBytes, dtype: p.gatheredDtype, shape: p.shape };
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  let total = 0;
  for (const item of items) total += of(item);
  return total;
}
