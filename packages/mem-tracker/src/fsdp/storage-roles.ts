import { readMemoryEvents } from "@remat/memory";
import { Category, EventKind, Phase, row, type Trace } from "@remat/trace";
import type { GroupParameter, ParameterGroup } from "./parameter-groups.js";

/** The gradient of which parameter a storage becomes. */
export interface GradientOf {
  readonly group: number;
  readonly parameter: GroupParameter;
  /** True where it is added to the gradient of an earlier backward pass, which is that of the parameter already. */
  readonly isAdded?: boolean;
}

/** What storages of the unsharded trace are for, as far as FSDP treats them in its own way. */
export interface StorageRoles {
  readonly gradients: ReadonlyMap<number, GradientOf>;
  /** Ops that add a gradient to that of an earlier backward pass, in place, with the group that it is of. */
  readonly additions: ReadonlyMap<number, number>;
  /** 1: a parameter as the run begins, which FSDP shards. */
  readonly isParameter: Uint8Array;
  /** 1: a parameter at some time. Where an update makes a new storage (tfjs's `assign`), it becomes the parameter's. */
  readonly becomesParameter: Uint8Array;
  /** 1: made by the optimizer or holding its state, so of the shape of a shard where it has a parameter's shape. */
  readonly isOptimizers: Uint8Array;
  /** 1: given to the root by the caller. */
  readonly isInput: Uint8Array;
  /** By storage: the first tensor on it, or -1. */
  readonly firstTensor: Int32Array;
}

export function storageRoles(trace: Trace, groups: readonly ParameterGroup[], root: number): StorageRoles {
  const isParameter = new Uint8Array(trace.storages.count);
  const becomesParameter = new Uint8Array(trace.storages.count);
  const isOptimizers = new Uint8Array(trace.storages.count);
  const isInput = new Uint8Array(trace.storages.count);
  const firstTensor = new Int32Array(trace.storages.count).fill(-1);
  for (let t = trace.tensors.count - 1; t >= 0; t--) for (const s of trace.tensorStorages(t)) firstTensor[s] = t;
  for (const group of groups)
    for (const { storage } of group.parameters) {
      isParameter[storage] = 1;
      becomesParameter[storage] = 1;
    }
  const added = addedGradients(trace);
  const matcher = new GradientMatcher(trace, groups, firstTensor, added);
  const { ops } = trace;
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
    },
    categorize(storage, category) {
      if (category === Category.gradient) matcher.add(storage);
      else if (category === Category.optimizerState) isOptimizers[storage] = 1;
      else if (category === Category.parameter) becomesParameter[storage] = 1;
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

/** What the backward pass adds in place to what it has made before, by its storage: to which, and by which op. */
function addedGradients(trace: Trace): ReadonlyMap<number, { readonly to: number; readonly op: number }> {
  const { ops, tensors } = trace;
  const added = new Map<number, { to: number; op: number }>();
  for (let op = 0; op < ops.count; op++) {
    if (ops.phase[op] !== Phase.backward || !/^aten\.add_\./.test(trace.opName(op))) continue;
    const [to, what] = trace.opInputs(op);
    if (what === undefined || tensors.storage[to] === tensors.storage[what]) continue;
    added.set(tensors.storage[what], { to: tensors.storage[to], op });
  }
  return added;
}

/**
 * Finds the parameter of each gradient: of the same shape, in the innermost group around the op that made it, of modules around it rather than of others, and
 * without a gradient in this iteration so far.
 */
class GradientMatcher {
  readonly gradients = new Map<number, GradientOf>();
  private readonly trace: Trace;
  private readonly groups: readonly ParameterGroup[];
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
    this.groups = groups;
    this.firstTensor = firstTensor;
    this.added = added;
    this.groupOfModule = new Map(groups.flatMap(({ modules }, i) => modules.map((module) => [module, i] as const)));
    this.madeAt = new Int32Array(trace.storages.count).fill(-1);
  }

  startIteration(): void {
    this.taken.clear();
  }

  allocated(storage: number, op: number): void {
    this.madeAt[storage] = op;
  }

  add(storage: number, op: number = this.madeAt[storage]): void {
    if (this.gradients.has(storage) || this.added.has(storage)) return;
    const { trace } = this;
    const tensor = this.firstTensor[storage];
    if (tensor < 0) return;
    const shape = trace.tensorShape(tensor);
    const elements = shape.reduce((product, n) => product * n, 1);
    const around = op >= 0 && op < trace.ops.count ? trace.opCalls(op) : new Int32Array(0);
    const modules = new Set(Array.from(around, (call) => trace.calls.module[call]));
    const candidates: number[] = [];
    for (let i = around.length - 1; i >= 0; i--) {
      const group = this.groupOfModule.get(trace.calls.module[around[i]]);
      if (group !== undefined) candidates.push(group);
    }
    for (let group = 0; group < this.groups.length; group++) if (!candidates.includes(group)) candidates.push(group);
    for (const group of candidates) {
      const open = this.groups[group].parameters.filter((p) => p.elements === elements && !this.taken.has(p));
      const alike = open.filter((p) => p.shape.join() === shape.join());
      const parameter = alike.find((p) => modules.has(p.module)) ?? alike[0] ?? open[0];
      if (parameter === undefined) continue;
      this.taken.add(parameter);
      this.gradients.set(storage, { group, parameter });
      return;
    }
  }
}
