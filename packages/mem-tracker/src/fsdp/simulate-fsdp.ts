import { readMemoryEvents } from "@remat/memory";
import { EventKind, Phase, RematError, row, type Trace } from "@remat/trace";
import { requireMemoryTrace } from "../track-memory.js";
import { CastCopies } from "./cast-copies.js";
import { castStorages } from "./cast-storages.js";
import { FSDPMemTracker } from "./fsdp-mem-tracker.js";
import { FsdpRank } from "./fsdp-rank.js";
import type { GroupState } from "./group-state.js";
import { matchModules, rootModule } from "./match-modules.js";
import { type ParameterGroup, parameterGroups } from "./parameter-groups.js";
import { RankTrace } from "./rank-trace.js";
import { checkShardingPlan, type ShardingPlan } from "./sharding-plan.js";
import { SourceStorages } from "./source-storages.js";
import { type StorageRoles, storageRoles } from "./storage-roles.js";
import { usualWrap } from "./usual-wrap.js";

/** What a rank would hold. */
export interface FsdpSimulation {
  /** As it was given, with what is wrapped. */
  readonly plan: ShardingPlan & Required<Pick<ShardingPlan, "wrap">>;
  readonly groups: readonly ParameterGroup[];
  /** The run on that rank, with FSDP's own ops, buffers and hooks: for timelines, moments and displays like any other. */
  readonly trace: Trace;
  /** The tracker that has read it; its statistics by module are of the last iteration. */
  readonly tracker: FSDPMemTracker;
}

/**
 * Predicts the memory of one rank under FSDP from a run on one device: shards with padding, gathering and its buffers, prefetching, reduction
 * in the reduction dtype, sharded gradients and optimizer states, lower precision, offload; checkpointing is as recorded.
 *
 * It follows PyTorch's FSDP2 event by event. What it cannot know: casts in the model's own code (tell them as `explicitCasts`), kernels
 * that another dtype would choose, and optimizer states that are not of their parameter's shape, which stay whole.
 *
 * @throws RematError `SHARDING_PLAN`, `TRACE_NO_BACKWARD`, `TRACE_NO_LIFETIMES`, `TRACE_NO_PARAMETERS`, `TRACE_EVENT_ORDER`
 * @example
 * const { tracker } = simulateFsdp(trace, { worldSize: 8, wrap: ["layers.*"] });
 * console.log(tracker.displaySnapshot("peak", "MiB", true));
 */
export function simulateFsdp(trace: Trace, given: ShardingPlan): FsdpSimulation {
  checkShardingPlan(given);
  requireMemoryTrace(trace);
  const plan = { ...given, wrap: given.wrap ?? usualWrap(trace) };
  const simulator = new Simulator(trace, plan);
  const { groups } = simulator;
  const sharded = simulator.run();
  return { plan, groups, trace: sharded, tracker: new FSDPMemTracker({ secondIteration: "reset" }).update(sharded) };
}

class Simulator {
  readonly groups: readonly ParameterGroup[];
  private readonly trace: Trace;
  private readonly root: number;
  private readonly roles: StorageRoles;
  private readonly out: RankTrace;
  private readonly storages: SourceStorages;
  private readonly copies: CastCopies | undefined;
  private readonly rank: FsdpRank;
  /** By wrapped module. */
  private readonly stateOf = new Map<number, GroupState>();
  /** Whether ops read shards; undefined when parameters have been gathered again. */
  private pointedToShards: boolean | undefined;
  /** Groups whose backward passes are no events of the trace. */
  private readonly unannounced = new Set<GroupState>();
  private readonly latestCall = new Map<number, number>();
  /** Backward passes that begin once those that end at the same time have ended, and casts of their gradients. */
  private readonly beginning: (() => void)[] = [];
  private readonly casting: (() => void)[] = [];
  /** By group: gradients of the source that are not freed. */
  private readonly unfreed: Set<number>[];
  private inBackward = false;
  private nextOp = 0;

  constructor(trace: Trace, plan: FsdpSimulation["plan"]) {
    this.trace = trace;
    this.root = rootModule(trace);
    const wrapped = new Set([this.root, ...matchModules(trace, this.root, plan.wrap)]);
    this.groups = parameterGroups(trace, plan, this.root, [...wrapped]);
    if (this.groups.length === 0)
      throw new RematError(
        "TRACE_NO_PARAMETERS",
        "the trace has no parameters to shard: found none among its modules' weights and its storages. Trace a model whose parameters are told.",
      );
    const scope = { root: this.root, castModules: castModulesOf(trace, plan, this.root) };
    this.roles = storageRoles(trace, this.groups, this.root);
    const casts = castStorages(trace, plan, this.roles, scope);
    this.out = new RankTrace(trace, [describe(plan, this.groups.length)]);
    this.storages = new SourceStorages(trace, plan, this.groups, this.roles, casts, this.out);
    this.copies = casts && new CastCopies(trace, casts, this.roles, this.storages, this.out, this.root);
    this.rank = new FsdpRank(this.out, plan, this.groups, this.root);
    this.unfreed = this.groups.map(() => new Set());
    const announced = modulesWithBackward(trace);
    for (const state of this.rank.groups) {
      this.stateOf.set(state.group.module, state);
      if (!announced.has(state.group.module)) this.unannounced.add(state);
    }
  }

  run(): Trace {
    const { trace, out } = this;
    this.rank.allocateShards();
    readMemoryEvents(trace, {
      op: (op) => this.op(op),
      allocate: (storage) => this.allocate(storage),
      free: (storage) => this.free(storage),
      resize: (storage, bytes) => this.storages.resize(storage, bytes),
      categorize: (storage, category) => this.storages.categorize(storage, category),
      other: (kind, item, _value, event) => this.copyEvent(kind, item, event),
    });
    this.endBackward();
    return out.builder.build(trace.truncated);
  }

  private copyEvent(kind: number, item: number, event: number): void {
    const { builder } = this.out;
    switch (kind) {
      case EventKind.enterModule:
        this.enterModule(item);
        break;
      case EventKind.exitModule:
        this.exitModule(item, event);
        break;
      case EventKind.enterScope:
        builder.enterScope(item);
        break;
      case EventKind.exitScope:
        builder.exitScope(item);
        break;
      case EventKind.mark:
        this.endBackward();
        builder.mark(this.trace.strings[item]);
        break;
    }
  }

  private op(op: number): void {
    const phase = this.trace.ops.phase[op];
    this.beforeOp();
    this.inBackward ||= isBackward(phase);
    if (phase === Phase.backward && this.unannounced.size > 0) this.beginUnannounced(op);
    this.pointToWeights(phase === Phase.optimizer);
    this.out.copyOp(op, this.storages);
    this.copies?.afterOp(op);
    this.nextOp = op + 1;
  }

  private allocate(storage: number): void {
    // What an op makes is allocated before the op, and hooks run before that.
    this.beforeOp();
    this.storages.allocate(storage);
    const gradient = this.roles.gradients.get(storage);
    if (gradient === undefined) return;
    const waiting = { storage: this.storages.ownOf(storage), parameter: gradient.parameter };
    this.rank.groups[gradient.group].gradients.push(waiting);
    this.unfreed[gradient.group].add(storage);
  }

  private free(storage: number): void {
    this.copies?.free(storage);
    const gradient = this.roles.gradients.get(storage);
    if (this.roles.isParameter[storage] === 1) return this.rank.freeShard(storage);
    if (gradient === undefined) return this.storages.free(storage);
    // Until it is reduced the group holds it; after that the sharded gradient lives as long as any of those it stands for.
    const unfreed = this.unfreed[gradient.group];
    unfreed.delete(storage);
    const { shardedGradients } = this.rank.groups[gradient.group];
    const own = shardedGradients.get(gradient.parameter);
    if (own !== undefined) this.out.free(own);
    const common = shardedGradients.get(undefined);
    if (common !== undefined && unfreed.size === 0) this.out.free(common);
  }

  private enterModule(eventRow: number): void {
    const { out, rank, copies } = this;
    const { module, call, phase } = this.moduleEvent(eventRow);
    const state = this.stateOf.get(module);
    if (phase === Phase.recompute) this.begin();
    if (phase === Phase.forward) {
      if (module === this.root) this.endBackward();
      this.latestCall.set(module, call);
    }
    out.builder.enterModule(call, phase, out.tensors(this.tensorsOf(eventRow), this.storages));
    if (phase === Phase.backward) {
      this.inBackward = true;
      const cast = (): void => copies?.castGradients(module, call);
      if (module === this.root) this.beginning.push(cast);
      else this.casting.push(cast);
      if (state !== undefined) this.beginning.push(() => rank.preBackward(state, call));
      return;
    }
    const castInputs = (): void => {
      if (phase === Phase.forward && module === this.root) copies?.castInputs(eventRow, this.nextOp);
    };
    if (state === undefined) return castInputs();
    rank.preForward(state, call, phase, castInputs);
    this.pointedToShards = undefined;
  }

  private exitModule(eventRow: number, event: number): void {
    const { out, rank, copies } = this;
    const { module, call, phase } = this.moduleEvent(eventRow);
    const state = this.stateOf.get(module);
    const exit = (): void => out.builder.exitModule(call, phase, out.tensors(this.tensorsOf(eventRow), this.storages));
    if (phase === Phase.backward) {
      exit();
      copies?.endBackward(module);
      // A group whose inputs have no gradient is reduced when all is over.
      if (!this.isNextBackward()) this.endBackward();
      else if (state?.training === "preBackward") rank.postBackward(state, call);
      return;
    }
    if (state !== undefined) rank.postForward(state, call, phase);
    else if (module === this.root && phase === Phase.forward) rank.endForward();
    exit();
    if (phase === Phase.forward) copies?.castOutputs(eventRow, event);
  }

  private beforeOp(): void {
    this.endBackward();
    this.begin();
  }

  /** Lets backward passes begin that have waited for others to end. */
  private begin(): void {
    if (this.beginning.length + this.casting.length === 0) return;
    for (const begin of this.beginning.splice(0)) begin();
    for (const cast of this.casting.splice(0)) cast();
  }

  /** Begins the backward pass of groups that the trace does not tell of, at the first op in them. */
  private beginUnannounced(op: number): void {
    for (const call of this.trace.opCalls(op)) {
      const state = this.stateOf.get(this.trace.calls.module[call]);
      if (state !== undefined && this.unannounced.has(state) && state.training === "idle")
        this.rank.preBackward(state, call);
    }
  }

  private endBackward(): void {
    if (!this.inBackward || this.isNextBackward()) return;
    this.begin();
    this.copies?.release();
    this.rank.endBackward((state) => this.latestCall.get(state.group.module));
    this.inBackward = false;
  }

  private isNextBackward(): boolean {
    return this.nextOp < this.trace.ops.count && isBackward(this.trace.ops.phase[this.nextOp]);
  }

  /** Ops read gathered parameters, but the optimizer's read and write shards, and sharded gradients. */
  private pointToWeights(shards: boolean): void {
    if (this.pointedToShards === shards) return;
    this.pointedToShards = shards;
    for (const state of this.rank.groups) {
      state.group.parameters.forEach(({ storage }, i) => {
        this.out.stand((shards ? undefined : state.gathered[i]) ?? state.shards[i], storage);
      });
    }
    if (!shards) return;
    for (const [storage, { group, parameter }] of this.roles.gradients) {
      const { shardedGradients } = this.rank.groups[group];
      const sharded = shardedGradients.get(parameter) ?? shardedGradients.get(undefined);
      if (sharded !== undefined && this.unfreed[group].has(storage)) this.out.stand(sharded, storage);
    }
  }

  private moduleEvent(eventRow: number): { module: number; call: number; phase: number } {
    const call = this.trace.moduleEvents.call[eventRow];
    return { module: this.trace.calls.module[call], call, phase: this.trace.moduleEvents.phase[eventRow] };
  }

  private tensorsOf(eventRow: number): Int32Array {
    return row(this.trace.moduleEvents.tensors, eventRow);
  }
}

function isBackward(phase: number): boolean {
  return phase === Phase.backward || phase === Phase.recompute;
}

function modulesWithBackward(trace: Trace): ReadonlySet<number> {
  const modules = new Set<number>();
  const { call, phase, count } = trace.moduleEvents;
  for (let i = 0; i < count; i++) if (phase[i] === Phase.backward) modules.add(trace.calls.module[call[i]]);
  return modules;
}

/** Modules whose outputs are cast to a wider dtype: where the model's code does so, and the root if the plan says. */
function castModulesOf(trace: Trace, plan: ShardingPlan, root: number): ReadonlyMap<number, string> {
  const { output, explicitCasts = [] } = plan.mixedPrecision ?? {};
  const modules = new Map<number, string>();
  for (const { after, dtype } of explicitCasts)
    for (const module of matchModules(trace, root, [after])) modules.set(module, dtype);
  if (output !== undefined) modules.set(root, output);
  return modules;
}

function describe({ rank = 0, worldSize, wrap }: FsdpSimulation["plan"], groups: number): string {
  return `Simulated from a run on one device: rank ${rank} of ${worldSize} under FSDP, ${groups} parameter ${groups === 1 ? "group" : "groups"} (${wrap.length === 0 ? "the root alone" : `the root and ${wrap.join(", ")}`}).`;
}
