import { readMemoryEvents } from "@remat/memory";
import {
  type CallIndex,
  EventKind,
  type ModuleIndex,
  type OpIndex,
  Phase,
  type StorageIndex,
  type Trace,
} from "@remat/trace";
import { CastCopies } from "./cast-copies.js";
import type { MixedUnits } from "./cast-scope.js";
import { castStorages } from "./cast-storages.js";
import {
  describeOwnCasts,
  describeRank,
  describeReadSharded,
  describeTwoDtypes,
  describeUnfusedAttention,
} from "./describe-rank.js";
import { castModulesOf, lowDtypeOf, mixedUnits, reduceDtypeOf } from "./dtypes-of-units.js";
import { callsWithInputGradients, isOver, withoutEndedCalls } from "./ended-calls.js";
import { type Communication, FsdpRank } from "./fsdp-rank.js";
import { GroupState } from "./group-state.js";
import { LateAdditions } from "./late-additions.js";
import { rootModule } from "./match-modules.js";
import { oncePerTrace } from "./once-per-trace.js";
import { outputCasts } from "./output-casts.js";
import { floatIslands } from "./own-casts.js";
import { type ParameterGroup, parameterGroups, requireParameters } from "./parameter-groups.js";
import { prefetchesOf } from "./prefetches.js";
import { RankTrace } from "./rank-trace.js";
import { endsOfUnits, shardedUnits } from "./sharded-units.js";
import type { WrappedPlan } from "./sharding-plan.js";
import { SourceStorages } from "./source-storages.js";
import { StepPasses } from "./step-passes.js";
import { type GradientOf, type StorageRoles, storageRoles } from "./storage-roles.js";
import type { StreamWork } from "./stream-work.js";

/**
 * Reads a run on one device and writes the run of one rank of FSDP2, event by event.
 *
 * @internal
 */
export class RankSimulator {
  readonly groups: readonly ParameterGroup[];
  /** Assumptions about facts that the run does not show. */
  readonly assumptions: readonly string[];
  private readonly trace: Trace;
  private readonly plan: WrappedPlan;
  private readonly root: number;
  private readonly roles: StorageRoles;
  private readonly out: RankTrace;
  private readonly storages: SourceStorages;
  private readonly copies: CastCopies | undefined;
  private readonly rank: FsdpRank;
  /** The state of the group of each wrapped module. */
  private readonly stateOf = new Map<number, GroupState>();
  /**
   * True while ops read shards, false while they read unsharded parameters, and undefined after a group has been
   * unsharded again.
   */
  private pointedToShards: boolean | undefined;
  /** Groups whose backward passes have no events in the trace. */
  private readonly unannounced = new Set<GroupState>();
  private readonly latestCall = new Map<number, number>();
  /** Backward passes that wait for others that end at the same time, and the casts of their gradients. */
  private readonly beginning: (() => void)[] = [];
  private readonly casting: (() => void)[] = [];
  /** For each group, the gradients of the source that are not freed yet. */
  private readonly unfreed: Set<number>[];
  private readonly steps: StepPasses;
  /** Set if FSDP units compute in different dtypes. */
  private readonly mixed: MixedUnits | undefined;
  /** Additions of gradients that wait for the end of a call's backward pass. */
  private readonly late: LateAdditions;
  private readonly ending: ReadonlySet<number>;
  /** For each wrapped module, the call whose backward pass is running. */
  private readonly openBackward = new Map<number, number>();
  private inBackward = false;
  private nextOp = 0;

  /** @param told notes on the choice of the run */
  constructor(trace: Trace, plan: WrappedPlan, told: readonly string[] = []) {
    this.trace = trace;
    this.plan = plan;
    this.root = rootModule(trace);
    const units = shardedUnits(trace, plan, this.root);
    this.groups = parameterGroups(trace, plan, this.root, units);
    requireParameters(this.groups);
    // A run in the lower dtype shows its casts.
    const isLow = plan.storedDtype !== undefined;
    this.mixed = isLow ? undefined : mixedUnits(trace, units, this.groups);
    const { first, last } = endsOfUnits(trace, units);
    const scope = {
      root: this.root,
      castModules: castModulesOf(trace, plan, this.root, units, last),
      mixed: this.mixed,
      units: first,
    };
    this.ending = callsWithInputGradients(trace);
    this.late = new LateAdditions(trace, new Set([...first].filter((module) => module !== this.root)));
    const ended = withoutEndedCalls(trace);
    this.roles = storageRoles(ended, this.groups, this.root);
    const lowDtype = isLow ? undefined : lowDtypeOf(trace, units, this.groups);
    const islands = lowDtype === undefined ? undefined : floatIslands(trace, plan.ownCasts);
    const rootOutput = units.find(({ modules }) => modules.includes(this.root))?.policy.mixedPrecision?.output;
    const casts =
      isLow && rootOutput !== undefined
        ? outputCasts(trace, this.root, plan.mixedPrecision!.param!, rootOutput)
        : castStorages(ended, lowDtype, this.roles, { ...scope, islands });
    const assumptions = [...told];
    if (casts !== undefined && casts.twoDtypes >= 0) assumptions.push(describeTwoDtypes(trace, casts, plan));
    const ownCasts = islands && lowDtype && describeOwnCasts(trace, islands, lowDtype);
    if (ownCasts !== undefined) assumptions.push(ownCasts);
    if (islands?.hasUnfusedNorm === true)
      assumptions.push(
        "nn.RMSNorm was recorded as single ops, which compute in float32 and save the result. PyTorch does the same without the fused CUDA kernel; with that kernel, the rank needs less memory.",
      );
    if (islands !== undefined && lowDtype !== undefined && islands.unfusedAttention >= 0)
      assumptions.push(describeUnfusedAttention(trace, islands.unfusedAttention, lowDtype));
    const states = this.groups.map((group) => new GroupState(group));
    const prefetches = prefetchesOf(trace, plan, this.root, units, states);
    const readSharded = describeReadSharded(trace, prefetches.keptSharded);
    if (readSharded !== undefined) assumptions.push(readSharded);
    this.assumptions = assumptions;
    this.out = new RankTrace(trace, [describeRank(plan, this.groups), ...assumptions], casts !== undefined);
    const { groups, roles, out, root } = this;
    this.storages = new SourceStorages({ trace, plan, groups, roles, casts, out });
    this.copies = casts && new CastCopies({ trace: ended, casts, roles, storages: this.storages, out, root });
    this.rank = new FsdpRank(this.out, plan, states, this.root, prefetches);
    this.unfreed = this.groups.map(() => new Set());
    this.steps = new StepPasses(trace, this.root);
    const announced = modulesWithBackward(trace);
    for (const state of states) {
      for (const module of state.group.modules) this.stateOf.set(module, state);
      if (!state.group.modules.some((module) => announced.has(module))) this.unannounced.add(state);
    }
  }

  get stepCount(): number {
    return this.steps.steps;
  }

  get work(): readonly StreamWork[] {
    return this.rank.work;
  }

  get communication(): Communication {
    const { allGatherBytes, reduceScatterBytes, allReduceBytes } = this.rank.received;
    const { steps } = this.steps;
    return {
      allGatherBytes: allGatherBytes / steps,
      reduceScatterBytes: reduceScatterBytes / steps,
      allReduceBytes: allReduceBytes / steps,
    };
  }

  run(): Trace {
    const { trace, out } = this;
    this.rank.allocateShards();
    if (this.steps.areStepsBefore) this.rank.gatherFromBefore();
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
      case EventKind.savedOnly:
        this.copies?.endReferences(item);
        break;
    }
  }

  private op(op: OpIndex): void {
    const phase = this.trace.ops.phase[op];
    this.beforeOp();
    this.inBackward ||= isBackward(phase);
    if (phase === Phase.backward && this.unannounced.size > 0) this.beginUnannounced(op);
    this.pointToWeights(phase === Phase.optimizer);
    if (this.late.isWaiting)
      this.add(this.late.neededBy(Array.from(this.trace.opInputs(op), (tensor) => this.trace.tensors.storage[tensor])));
    const addsTo = this.roles.additions.get(op);
    if (this.late.holds(op)) {
      this.nextOp = op + 1;
      return;
    }
    if (addsTo === undefined || this.addsUnreduced(addsTo)) this.out.copyOp(op, this.storages);
    this.copies?.afterOp(op);
    this.nextOp = op + 1;
  }

  private allocate(storage: StorageIndex): void {
    // The result of an op is allocated before the op, and hooks run before that.
    this.beforeOp();
    if (this.late.makes(storage)) return;
    this.storages.allocate(storage);
    const gradient = this.roles.gradients.get(storage);
    if (gradient === undefined || (gradient.isAdded && this.addsUnreduced(gradient.group))) return;
    const waiting = { storage: this.storages.ownOf(storage), parameter: gradient.parameter };
    this.rank.groups[gradient.group].gradients.push(waiting);
    if (!gradient.isAdded) this.unfreed[gradient.group].add(storage);
  }

  private free(storage: StorageIndex): void {
    if (this.late.isWaiting) this.add(this.late.neededBy([storage]));
    if (this.late.holdsFree(storage)) return;
    this.copies?.free(storage);
    const gradient = this.roles.gradients.get(storage);
    if (this.roles.isParameter[storage] === 1) return this.rank.freeShard(storage);
    if (gradient === undefined || (gradient.isAdded && this.addsUnreduced(gradient.group)))
      return this.storages.free(storage);
    if (gradient.isAdded) return;
    // The group keeps a gradient alive until it is reduced. After that the sharded gradient lives as long as any
    // gradient it stands for.
    const unfreed = this.unfreed[gradient.group];
    unfreed.delete(storage);
    const { shardedGradients } = this.rank.groups[gradient.group];
    const own = shardedGradients.get(gradient.parameter);
    if (own === undefined) return;
    const { gradients } = this.roles;
    for (const other of unfreed)
      if (shardedGradients.get((gradients.get(other) as GradientOf).parameter) === own) return;
    this.out.free(own);
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
    out.builder.enterModule(call, phase, this.tensorsOf(eventRow));
    if (phase === Phase.backward) {
      this.inBackward = true;
      this.endEarlier(call);
      if (state !== undefined && this.ending.has(call)) this.openBackward.set(module, call);
      const cast = (): void => copies?.castGradients(module, call);
      if (module === this.root) this.beginning.push(cast);
      else this.casting.push(cast);
      if (state !== undefined && (this.plan.asTracked || module === state.last))
        this.beginning.push(() => rank.preBackward(state, call, this.hooked(state, call)));
      return;
    }
    const castInputs = (): void => {
      if (phase !== Phase.forward) return;
      if (this.mixed === undefined && module === this.root) copies?.castInputs(eventRow, this.nextOp);
      else copies?.castUnitInputs(module, eventRow, this.nextOp);
    };
    if (state === undefined) return castInputs();
    rank.preForward(state, module, call, phase, castInputs);
    this.pointedToShards = undefined;
  }

  private exitModule(eventRow: number, event: number): void {
    const { out, rank, copies } = this;
    const { module, call, phase } = this.moduleEvent(eventRow);
    const state = this.stateOf.get(module);
    const exit = (): void => out.builder.exitModule(call, phase, this.tensorsOf(eventRow));
    if (phase === Phase.backward) {
      exit();
      this.openBackward.delete(module);
      return this.endModule(module, call);
    }
    if (state !== undefined) rank.postForward(state, module, call, phase);
    else if (module === this.root && phase === Phase.forward) rank.endForward(call);
    exit();
    if (phase !== Phase.forward) return;
    copies?.castOutputs(eventRow, event, this.nextOp);
    copies?.endCall(module, eventRow, this.nextOp);
  }

  private endModule(module: ModuleIndex, call: CallIndex): void {
    const { rank, copies } = this;
    const state = this.stateOf.get(module);
    copies?.endBackward(module);
    // Casts of the module itself are reversed when everything else is done. Autograd casts the gradient of a
    // low-precision input at once.
    const castsInputs = this.mixed?.isLow.get(module) === true;
    if (!castsInputs) copies?.castLeaving(module, call);
    // A group whose inputs have no gradient is reduced at the end of the backward pass.
    if (!this.isNextBackward()) this.endBackward();
    else if (state?.training === "preBackward" && (this.plan.asTracked || module === state.first))
      rank.postBackward(state, call, this.hooked(state, call), this.reduces());
    if (castsInputs) copies?.castLeaving(module, call);
    this.add([call]);
  }

  /** Writes the additions that waited for the ends of calls. An undefined call stands for all calls. */
  private add(calls: readonly (number | undefined)[]): void {
    for (const call of calls)
      for (const { op, sum, freed } of this.late.take(call)) {
        this.storages.allocate(sum);
        this.out.copyOp(op, this.storages);
        for (const storage of freed) this.free(storage);
      }
  }

  /**
   * Ends the backward passes of wrapped modules that ran after `call`, when the backward pass of `call` begins. In the
   * trace they end when all their inputs have gradients, although other modules may share these inputs. FSDP waits only
   * for its own module.
   */
  private endEarlier(call: CallIndex): void {
    for (const [module, later] of this.openBackward) {
      if (!isOver(this.trace, later, call)) continue;
      this.openBackward.delete(module);
      this.endModule(module, later);
    }
  }

  private beforeOp(): void {
    this.endBackward();
    this.begin();
    if (this.nextOp < this.trace.ops.count) this.copies?.beforeOp(this.nextOp);
  }

  /** Begins backward passes that waited for others to end. */
  private begin(): void {
    if (this.beginning.length + this.casting.length === 0) return;
    for (const begin of this.beginning.splice(0)) begin();
    for (const cast of this.casting.splice(0)) cast();
  }

  /** Begins the backward pass of groups that have no backward events, at their first op. */
  private beginUnannounced(op: OpIndex): void {
    for (const call of this.trace.opCalls(op)) {
      const state = this.stateOf.get(this.trace.calls.module[call]);
      if (state !== undefined && this.unannounced.has(state) && state.training === "idle")
        this.rank.preBackward(state, call, this.hooked(state, call));
    }
  }

  private endBackward(): void {
    if (!this.inBackward || this.isNextBackward()) return;
    this.begin();
    this.add([undefined]);
    this.copies?.release();
    this.rank.endBackward((state) => {
      const call = this.latestCall.get(state.first);
      return call === undefined ? undefined : [call, this.hooked(state, call)];
    }, this.reduces());
    this.inBackward = false;
  }

  /**
   * Returns the calls whose hooks are recorded when a module of a group begins or ends. The original tracker records
   * the hooks of all modules of the group.
   */
  private hooked({ group }: GroupState, call: CallIndex): readonly number[] {
    if (!this.plan.asTracked) return [call];
    return group.modules.flatMap((module) => this.latestCall.get(module) ?? []);
  }

  /** Returns whether gradients are reduced after the current backward pass. */
  private reduces(): boolean {
    return this.plan.gradientSync !== "last" || this.steps.isLastBackward(this.nextOp - 1);
  }

  /**
   * Returns whether gradients are added to those of an earlier pass, as in the run. That is the case if FSDP keeps
   * those gradients unreduced and in the same dtype.
   */
  private addsUnreduced(group: number): boolean {
    return this.plan.gradientSync === "last" && reduceDtypeOf(this.groups[group]) === undefined;
  }

  private isNextBackward(): boolean {
    return this.nextOp < this.trace.ops.count && isBackward(this.trace.ops.phase[this.nextOp]);
  }

  /**
   * Makes ops read unsharded parameters. Ops of the optimizer are the exception: they read and write shards and sharded
   * gradients.
   */
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
      const sharded = shardedGradients.get(parameter);
      if (sharded !== undefined && this.unfreed[group].has(storage)) this.out.stand(sharded, storage);
    }
  }

  private moduleEvent(eventRow: number): { module: number; call: number; phase: number } {
    const call = this.trace.moduleEvents.call[eventRow];
    return { module: this.trace.calls.module[call], call, phase: this.trace.moduleEvents.phase[eventRow] };
  }

  private tensorsOf(eventRow: number): number[] {
    return this.out.tensorsIn(this.trace.moduleEvents.tensors, eventRow, this.storages);
  }
}

function isBackward(phase: number): boolean {
  return phase === Phase.backward || phase === Phase.recompute;
}

const modulesWithBackward = oncePerTrace((trace): ReadonlySet<number> => {
  const modules = new Set<number>();
  const { call, phase, count } = trace.moduleEvents;
  for (let i = 0; i < count; i++) if (phase[i] === Phase.backward) modules.add(trace.calls.module[call[i]]);
  return modules;
});
