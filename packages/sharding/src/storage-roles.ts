import { readMemoryEvents } from "@remat/memory";
import { addsInPlace } from "@remat/runtime-estimator/aten";
import { Category, EventKind, elementsOf, type OpIndex, Phase, row, type StorageIndex, type Trace } from "@remat/trace";
import { getOrInsert } from "./get-or-insert.js";
import { oncePerTrace } from "./once-per-trace.js";
import type { GroupParameter, ParameterGroup } from "./parameter-groups.js";

/** The parameter whose gradient a storage becomes. */
export interface GradientOf {
  readonly group: number;
  readonly parameter: GroupParameter;
  /** True if the storage is added to the parameter's gradient from an earlier backward pass. */
  readonly isAdded?: boolean;
}

/** The roles of storages of the unsharded trace that FSDP treats specially. */
export interface StorageRoles {
  readonly gradients: ReadonlyMap<number, GradientOf>;
  /** Ops that add a gradient in place to the gradient of an earlier backward pass, with the group of the gradient. */
  readonly additions: ReadonlyMap<number, number>;
  /** 1 for a parameter at the start of the run, which FSDP shards. */
  readonly isParameter: Uint8Array;
  /**
   * 1 for a parameter of a group at some time. If an update creates a new storage (`assign` of TensorFlow.js), that
   * storage becomes the parameter's.
   */
  readonly becomesParameter: Uint8Array;
  /** 1 for a storage that the optimizer creates or keeps as state. If it has a parameter's shape, it is sharded. */
  readonly isOptimizers: Uint8Array;
  /** 1 for an input that the caller passes to the root. */
  readonly isInput: Uint8Array;
  /** For each storage, the first tensor on it, or -1. */
  readonly firstTensor: Int32Array;
}

export function storageRoles(trace: Trace, groups: readonly ParameterGroup[], root: number): StorageRoles {
  const isParameter = new Uint8Array(trace.storages.count);
  const becomesParameter = new Uint8Array(trace.storages.count);
  const isOptimizers = new Uint8Array(trace.storages.count);
  const isInput = new Uint8Array(trace.storages.count);
  const firstTensor = firstTensors(trace);
  for (const group of groups)
    for (const { storage } of group.parameters) {
      isParameter[storage] = 1;
      becomesParameter[storage] = 1;
    }
  const added = addedGradients(trace);
  const matcher = new GradientMatcher(trace, groups, firstTensor, added);
  const { ops } = trace;
  const fromStart = new Set<number>();
  let nextOp = 0;
  readMemoryEvents(trace, {
    op(op) {
      nextOp = op + 1;
      if (ops.phase[op] === Phase.optimizer) matcher.startIteration();
    },
    allocate(storage) {
      const category = trace.storages.category[storage];
      if (category === Category.optimizerState || (nextOp < ops.count && ops.phase[nextOp] === Phase.optimizer))
        isOptimizers[storage] = 1;
      if (category === Category.gradient) matcher.add(storage, nextOp);
      else matcher.allocated(storage, nextOp);
      if (nextOp === 0) fromStart.add(storage);
    },
    categorize(storage, category) {
      if (category === Category.gradient) matcher.add(storage);
      else if (category === Category.optimizerState) isOptimizers[storage] = 1;
      // A parameter from the start that is in no group is an ignored one, and stays as it is.
      else if (category === Category.parameter && !fromStart.has(storage)) becomesParameter[storage] = 1;
    },
    other(kind, item) {
      const { call, phase, tensors } = trace.moduleEvents;
      if (kind !== EventKind.enterModule || phase[item] !== Phase.forward) return;
      if (trace.calls.module[call[item]] !== root) return;
      for (const tensor of row(tensors, item)) {
        const s = trace.tensors.storage[tensor];
        const category = trace.storages.category[s];
        if (category === Category.other || category === Category.input) isInput[s] = 1;
      }
    },
  });
  const { gradients } = matcher;
  const additions = new Map<number, number>();
  for (const [storage, { to, op }] of added) {
    const of = gradients.get(to);
    if (of === undefined) continue;
    additions.set(op, of.group);
    gradients.set(storage, { ...of, isAdded: true });
  }
  return { gradients, additions, isParameter, becomesParameter, isOptimizers, isInput, firstTensor };
}

const firstTensors = oncePerTrace((trace): Int32Array => {
  const firstTensor = new Int32Array(trace.storages.count).fill(-1);
  for (let t = trace.tensors.count - 1; t >= 0; t--) for (const s of trace.tensorStorages(t)) firstTensor[s] = t;
  return firstTensor;
});

/**
 * Returns the gradients that the backward pass adds in place to earlier gradients, by storage. Each has the storage to
 * which it is added, and the op.
 */
const addedGradients = oncePerTrace((trace): ReadonlyMap<number, { readonly to: number; readonly op: number }> => {
  const { ops, tensors } = trace;
  const added = new Map<number, { to: number; op: number }>();
  for (let op = 0; op < ops.count; op++) {
    if (ops.phase[op] !== Phase.backward || !addsInPlace(trace.opName(op))) continue;
    const [to, what] = trace.opInputs(op);
    if (what === undefined || tensors.storage[to] === tensors.storage[what]) continue;
    added.set(tensors.storage[what], { to: tensors.storage[to], op });
  }
  return added;
});

/** An ordered list of parameters that finds the first one not taken without searching from the start again. */
class OpenParameters {
  readonly all: GroupParameter[] = [];
  private at = 0;

  first(taken: ReadonlySet<GroupParameter>): GroupParameter | undefined {
    while (this.at < this.all.length && taken.has(this.all[this.at])) this.at++;
    return this.all[this.at];
  }

  reset(): void {
    this.at = 0;
  }
}

/**
 * An index of the parameters of a group for matching gradients. A step that is one group may have tens of thousands of
 * parameters, most of them alike.
 */
class ParametersOfGroup {
  private readonly byElements = new Map<number, OpenParameters>();
  private readonly byShape = new Map<string, OpenParameters>();
  private readonly byModule = new Map<number, { readonly parameter: GroupParameter; readonly place: number }[]>();

  constructor({ parameters }: ParameterGroup) {
    for (const [place, parameter] of parameters.entries()) {
      getOrInsert(this.byElements, parameter.elements, () => new OpenParameters()).all.push(parameter);
      getOrInsert(this.byShape, parameter.shape.join(), () => new OpenParameters()).all.push(parameter);
      getOrInsert(this.byModule, parameter.module, () => []).push({ parameter, place });
    }
  }

  /**
   * Returns a parameter of the same shape, preferably one of `modules`, otherwise one with the same number of elements.
   */
  match(
    shape: readonly number[],
    modules: ReadonlySet<number>,
    taken: ReadonlySet<GroupParameter>,
  ): GroupParameter | undefined {
    const wanted = shape.join();
    let nearest: { readonly parameter: GroupParameter; readonly place: number } | undefined;
    for (const module of modules)
      for (const each of this.byModule.get(module) ?? [])
        if (
          (nearest === undefined || each.place < nearest.place) &&
          !taken.has(each.parameter) &&
          each.parameter.shape.join() === wanted
        )
          nearest = each;
    return (
      nearest?.parameter ??
      this.byShape.get(wanted)?.first(taken) ??
      this.byElements.get(elementsOf(shape))?.first(taken)
    );
  }

  startIteration(): void {
    for (const open of [...this.byElements.values(), ...this.byShape.values()]) open.reset();
  }
}

/**
 * Finds the parameter of each gradient: a parameter of the same shape that has no gradient in this iteration yet. It
 * searches first the innermost group around the op that created the gradient, and in that group first the modules
 * around the op.
 */
class GradientMatcher {
  readonly gradients = new Map<number, GradientOf>();
  private readonly trace: Trace;
  private readonly groups: readonly ParametersOfGroup[];
  private readonly groupOfModule: ReadonlyMap<number, number>;
  private readonly firstTensor: Int32Array;
  private readonly madeAt: Int32Array;
  private readonly taken = new Set<GroupParameter>();
  private readonly added: ReadonlyMap<number, unknown>;

  constructor(
    trace: Trace,
    groups: readonly ParameterGroup[],
    firstTensor: Int32Array,
    added: ReadonlyMap<number, unknown>,
  ) {
    this.trace = trace;
    this.groups = groups.map((group) => new ParametersOfGroup(group));
    this.firstTensor = firstTensor;
    this.added = added;
    this.groupOfModule = new Map(groups.flatMap(({ modules }, i) => modules.map((module) => [module, i] as const)));
    this.madeAt = new Int32Array(trace.storages.count).fill(-1);
  }

  startIteration(): void {
    if (this.taken.size === 0) return;
    this.taken.clear();
    for (const group of this.groups) group.startIteration();
  }

  allocated(storage: StorageIndex, op: OpIndex): void {
    this.madeAt[storage] = op;
  }

  add(storage: StorageIndex, op: OpIndex = this.madeAt[storage]): void {
    if (this.gradients.has(storage) || this.added.has(storage)) return;
    const { trace } = this;
    const tensor = this.firstTensor[storage];
    if (tensor < 0) return;
    const shape = trace.tensorShape(tensor);
    const around = op >= 0 && op < trace.ops.count ? trace.opCalls(op) : new Int32Array(0);
    const modules = new Set(Array.from(around, (call) => trace.calls.module[call]));
    const inside = new Set<number>();
    for (let i = around.length - 1; i >= 0; i--) {
      const group = this.groupOfModule.get(trace.calls.module[around[i]]);
      if (group !== undefined) inside.add(group);
    }
    const matches = (group: number): boolean => {
      const parameter = this.groups[group].match(shape, modules, this.taken);
      if (parameter === undefined) return false;
      this.taken.add(parameter);
      this.gradients.set(storage, { group, parameter });
      return true;
    };
    for (const group of inside) if (matches(group)) return;
    for (let group = 0; group < this.groups.length; group++) if (!inside.has(group) && matches(group)) return;
  }
}
