import {
  type CallIndex,
  Category,
  EventKind,
  elementsOf,
  type ModuleIndex,
  type OpIndex,
  Phase,
  row,
  type StorageIndex,
  type TensorIndex,
  type Trace,
} from "@remat/trace";
import type { CastStorages } from "./cast-storages.js";
import { getOrInsert } from "./get-or-insert.js";
import type { RankTrace } from "./rank-trace.js";
import { elementBytes } from "./sharding-plan.js";
import type { SourceStorages } from "./source-storages.js";
import type { StorageRoles } from "./storage-roles.js";

interface CastOutput {
  readonly elements: number;
  readonly shape: readonly number[];
}

/** The unsharded run, its casts, and the trace of the rank that is written from it. */
export interface CastRun {
  readonly trace: Trace;
  readonly casts: CastStorages;
  readonly roles: StorageRoles;
  readonly storages: SourceStorages;
  readonly out: RankTrace;
  readonly root: number;
}

/**
 * Writes the copies that casts allocate under mixed precision: copies of inputs, of outputs that are cast up, and of
 * the gradients of those outputs.
 */
export class CastCopies {
  private readonly trace: Trace;
  private readonly casts: CastStorages;
  private readonly roles: StorageRoles;
  private readonly storages: SourceStorages;
  private readonly out: RankTrace;
  /** For each storage of the source and each call that casts it, its counterpart before the cast. */
  private readonly castIn = new Map<number, Map<number, number>>();
  /** Ops of the source before which the root is called. */
  private readonly rootCalls: number[] = [];
  private readonly freeAfter = new Map<number, number[]>();
  /** Copies that no later op reads, but that are not freed yet. */
  private readonly released: number[] = [];
  private readonly wide = new Map<number, number>();
  private readonly outputs = new Map<number, CastOutput[]>();
  private readonly gradients = new Map<number, number[]>();
  private readers: readonly (readonly number[] | undefined)[] | undefined;
  /**
   * For each storage of the source, its copy in the other dtype, created for ops whose inputs the model's code casts.
   */
  private readonly converted = new Map<number, number>();
  /**
   * For each storage with such a copy, the last op that reads the copy and the last op that reads the storage itself.
   */
  private readonly lastOf: ReadonlyMap<number, { readonly copy: number; readonly own: number }>;
  /** For each op, the storages that it is the last to read directly. */
  private readonly ownEnds = new Map<number, number[]>();
  private readonly savedOnly: Uint8Array | undefined;
  /** For each storage of the source that is cast for the next op, its counterpart before the cast. */
  private readonly standing = new Map<number, number>();
  private castFor = -1;

  constructor({ trace, casts, roles, storages, out, root }: CastRun) {
    this.trace = trace;
    this.casts = casts;
    this.roles = roles;
    this.storages = storages;
    this.out = out;
    this.collectRootCalls(root);
    this.lastOf = casts.byOp.size === 0 ? new Map() : this.lastReaders();
    for (const [storage, { own }] of this.lastOf) {
      getOrInsert(this.ownEnds, own, () => []).push(storage);
    }
    this.savedOnly = trace.events.kind.includes(EventKind.savedOnly) ? new Uint8Array(trace.storages.count) : undefined;
  }

  /**
   * Returns the last readers of each storage that some op reads through a cast of the model's own code: the last op
   * that reads the cast, and the last op that reads the storage itself. An op that only makes a view does not count as
   * a reader.
   */
  private lastReaders(): ReadonlyMap<number, { readonly copy: number; readonly own: number }> {
    const { trace } = this;
    const { byOp } = this.casts;
    const last = new Map<number, { copy: number; own: number }>();
    for (const storages of byOp.values())
      for (const storage of storages.keys()) last.set(storage, { copy: -1, own: -1 });
    for (let op = 0; op < trace.ops.count; op++) {
      const outputs = new Set(Array.from(trace.opOutputs(op), (tensor) => trace.tensors.storage[tensor]));
      for (const tensor of trace.opInputs(op)) {
        const storage = trace.tensors.storage[tensor];
        const known = last.get(storage);
        if (known === undefined) continue;
        if (byOp.get(op)?.has(storage) === true) known.copy = op;
        else if (!outputs.has(storage)) known.own = op;
      }
    }
    return last;
  }

  /** Writes the casts that the model's code makes for an op, before the op allocates anything. */
  beforeOp(op: OpIndex): void {
    if (op === this.castFor) return;
    this.castFor = op;
    const wanted = this.casts.byOp.get(op);
    if (wanted === undefined) return;
    const { trace, out } = this;
    const [call = 0] = Array.from(trace.opCalls(op)).slice(-1);
    for (const [storage, toLow] of wanted) {
      const given = out.standsFor(storage);
      let copy = this.converted.get(storage);
      if (copy === undefined || !out.isLive(copy)) {
        const tensor = trace.opInputs(op).find((each) => trace.tensors.storage[each] === storage) as number;
        const dtype = toLow ? this.casts.lowDtype : trace.tensorDtype(tensor);
        [copy] = out.fsdpOp("aten._to_copy", trace.ops.phase[op], call, [this.copyOf(tensor, dtype)]);
        this.converted.set(storage, copy);
      }
      this.standing.set(storage, given);
      out.stand(copy, storage);
      this.endOwn(storage, op);
    }
  }

  /** Records that only autograd still references a storage. */
  endReferences(storage: StorageIndex): void {
    if (this.savedOnly === undefined) return;
    this.savedOnly[storage] = 1;
    if (this.lastOf.has(storage)) this.endOwn(storage, this.castFor);
  }

  /**
   * Frees a storage once the program no longer references it, if from then on only its copy in the other dtype is read.
   */
  private endOwn(storage: StorageIndex, op: OpIndex): void {
    const { out, trace, roles } = this;
    const last = this.lastOf.get(storage);
    if (last === undefined || last.own > op || !this.converted.has(storage)) return;
    if (roles.isInput[storage] === 1 || roles.becomesParameter[storage] === 1 || roles.gradients.has(storage)) return;
    const isGradient = trace.storages.category[storage] === Category.temporary;
    if (!isGradient && this.savedOnly !== undefined && this.savedOnly[storage] === 0) return;
    const own = this.storages.ownOf(storage);
    if (own >= 0) out.free(own);
  }

  /** Casts the inputs of a call of an FSDP unit if their dtype is not the one in which the unit computes. */
  castUnitInputs(module: ModuleIndex, eventRow: number, nextOp: OpIndex): void {
    const { trace, out } = this;
    const wanted = this.casts.inputs.get(module);
    if (wanted === undefined) return;
    const call = trace.moduleEvents.call[eventRow];
    const seen = row(trace.moduleEvents.tensors, eventRow);
    const isSeen = new Set(Array.from(seen, (tensor) => trace.tensors.storage[tensor]));
    const byKeyword = new Set<number>();
    for (const tensor of this.casts.readFromOutside.get(call) ?? []) {
      const storage = trace.tensors.storage[tensor];
      if (!isSeen.has(storage)) byKeyword.add(this.roles.firstTensor[storage]);
    }
    for (const tensor of [...seen, ...byKeyword]) {
      const storage = trace.tensors.storage[tensor];
      if (!wanted.has(storage)) continue;
      const dtype = this.casts.castsUp.has(module) ? trace.tensorDtype(tensor) : this.casts.lowDtype;
      const [copy] = out.fsdpOp("aten._to_copy", Phase.forward, call, [this.copyOf(tensor, dtype)]);
      const given = this.castIn.get(storage) ?? new Map<number, number>();
      this.castIn.set(storage, given.set(call, out.standsFor(storage)));
      out.stand(copy, storage);
      const last = this.lastReadIn(storage, call, nextOp);
      if (last === undefined) out.free(copy);
      else this.freeAfterOp(last, copy);
    }
  }

  /** Frees the inputs that a call has cast, if from now on only the copies are read. Inputs of the step stay. */
  endCall(module: ModuleIndex, eventRow: number, nextOp: OpIndex): void {
    const { trace, castIn } = this;
    const call = trace.moduleEvents.call[eventRow];
    for (const storage of this.casts.inputs.get(module) ?? []) {
      const calls = castIn.get(storage);
      const given = calls?.get(call);
      if (calls === undefined || given === undefined) continue;
      if (this.roles.isInput[storage] === 1 && given === this.storages.ownOf(storage)) continue;
      const isRead = this.readersOf(storage).some(
        (op) => op >= nextOp && !trace.opCalls(op).some((inside) => calls.get(inside) === given),
      );
      if (!isRead) this.out.free(given);
    }
  }

  /** Casts gradients that leave an FSDP unit in a dtype other than that of the matching input. */
  castLeaving(module: ModuleIndex, call: CallIndex): void {
    const { out } = this;
    for (const [storage, dtype] of this.casts.gradients.get(module) ?? []) {
      const own = this.storages.ownOf(storage);
      if (own < 0 || !out.isLive(own) || this.wide.has(storage)) continue;
      const [copy] = out.fsdpOp("aten._to_copy", Phase.backward, call, [
        this.copyOf(this.roles.firstTensor[storage], dtype),
      ]);
      this.wide.set(storage, copy);
      out.stand(copy, storage);
      out.free(own);
    }
  }

  /** Returns the last op in a call, or in its backward pass, that reads a storage. */
  private lastReadIn(storage: StorageIndex, call: CallIndex, nextOp: OpIndex): number | undefined {
    return this.readersOf(storage).findLast((op) => op >= nextOp && this.trace.opCalls(op).includes(call));
  }

  /**
   * Casts the inputs of a call of the root to the parameters' dtype. Each copy lives until it is read for the last
   * time.
   */
  castInputs(eventRow: number, nextOp: OpIndex): void {
    const { trace, out } = this;
    const until = this.rootCalls.find((op) => op > nextOp) ?? trace.ops.count;
    for (const tensor of row(trace.moduleEvents.tensors, eventRow)) {
      const storage = trace.tensors.storage[tensor];
      if (this.roles.isInput[storage] === 0 || !this.isWideFloat(storage)) continue;
      const call = trace.moduleEvents.call[eventRow];
      const [copy] = out.fsdpOp("aten._to_copy", Phase.forward, call, [this.copyOf(tensor, this.casts.lowDtype)]);
      const last = this.readersOf(storage).findLast((op) => op >= nextOp && op < until);
      if (last === undefined) {
        out.free(copy);
        continue;
      }
      out.stand(copy, storage);
      this.freeAfterOp(last, copy);
    }
  }

  private freeAfterOp(op: OpIndex, copy: number): void {
    getOrInsert(this.freeAfter, op, () => []).push(copy);
  }

  private readersOf(storage: StorageIndex): readonly number[] {
    this.readers ??= readersByStorage(this.trace);
    return this.readers[storage] ?? [];
  }

  /**
   * Casts the outputs of a module to a wider dtype after it has run. The narrow outputs that autograd does not need are
   * freed at once.
   */
  castOutputs(eventRow: number, event: number, nextOp: OpIndex): void {
    const { trace, out } = this;
    const call = trace.moduleEvents.call[eventRow];
    const made: CastOutput[] = [];
    const narrow: number[] = [];
    for (const { storage, dtype } of this.casts.explicit.get(event) ?? []) {
      const tensor = Array.from(row(trace.moduleEvents.tensors, eventRow)).find(
        (t) => trace.tensors.storage[t] === storage,
      );
      if (tensor === undefined) continue;
      const [copy] = out.fsdpOp("aten._to_copy", Phase.forward, call, [this.copyOf(tensor, dtype)]);
      this.wide.set(storage, copy);
      out.stand(copy, storage);
      // The caller keeps them until all of them are cast.
      if (!this.isReadBackward(storage, call)) narrow.push(storage);
      if (!this.isReadInsideAlone(storage, call, nextOp))
        made.push({ elements: elementsOf(trace.tensorShape(tensor)), shape: trace.tensorShape(tensor) });
    }
    for (const storage of narrow) out.free(this.storages.ownOf(storage));
    if (made.length > 0) this.outputs.set(trace.calls.module[call], made);
  }

  /**
   * Returns whether only the call itself reads its result, so that no gradient comes from outside. An example is the
   * logits of a model that computes its own loss.
   */
  private isReadInsideAlone(storage: StorageIndex, call: CallIndex, nextOp: OpIndex): boolean {
    const readers = this.readersOf(storage);
    const isInside = (op: OpIndex): boolean => this.trace.opCalls(op).includes(call);
    return readers.some((op) => op < nextOp && isInside(op)) && readers.every((op) => op < nextOp || isInside(op));
  }

  /** Returns whether the backward pass of a call reads a storage. */
  private isReadBackward(storage: StorageIndex, call: CallIndex): boolean {
    const { trace } = this;
    return this.readersOf(storage).some(
      (op) => trace.ops.phase[op] === Phase.backward && trace.opCalls(op).includes(call),
    );
  }

  /**
   * Casts gradients back to the lower dtype when the backward pass of the module begins, if its outputs were cast up.
   */
  castGradients(module: ModuleIndex, call: CallIndex): void {
    const outputs = this.outputs.get(module);
    if (outputs === undefined) return;
    const { lowDtype } = this.casts;
    const copies = outputs.map(({ elements, shape }) => ({
      bytes: elements * elementBytes(lowDtype),
      dtype: lowDtype,
      shape,
    }));
    this.gradients.set(module, this.out.fsdpOp("aten._to_copy", Phase.backward, call, copies));
    this.outputs.delete(module);
  }

  endBackward(module: ModuleIndex): void {
    for (const copy of this.gradients.get(module) ?? []) this.out.free(copy);
    this.gradients.delete(module);
  }

  afterOp(op: OpIndex): void {
    for (const [storage, given] of this.standing) {
      this.out.stand(given, storage);
      if (this.lastOf.get(storage)?.copy === op) this.released.push(this.converted.get(storage) as number);
    }
    this.standing.clear();
    for (const storage of this.ownEnds.get(op) ?? []) this.endOwn(storage, op);
    const copies = this.freeAfter.get(op);
    if (copies === undefined) return;
    this.released.push(...copies);
    this.freeAfter.delete(op);
  }

  /**
   * Frees the copies that no later op reads. An autograd node frees all its saved tensors at once, so this runs when
   * the source frees something.
   */
  release(): void {
    for (const copy of this.released.splice(0)) this.out.free(copy);
  }

  /** Frees the copies of a storage of the source, when the source frees that storage. */
  free(storage: StorageIndex): void {
    this.release();
    for (const copies of [this.wide, this.converted]) {
      const copy = copies.get(storage);
      if (copy !== undefined) this.out.free(copy);
      copies.delete(storage);
    }
  }

  private copyOf(tensor: TensorIndex, dtype: string): { bytes: number; dtype: string; shape: readonly number[] } {
    return {
      bytes: elementsOf(this.trace.tensorShape(tensor)) * elementBytes(dtype),
      dtype,
      shape: this.trace.tensorShape(tensor),
    };
  }

  private collectRootCalls(root: number): void {
    const { moduleEvents, calls, events } = this.trace;
    const { kind, subject, count } = events;
    let nextOp = 0;
    for (let i = 0; i < count; i++) {
      const item = subject[i];
      if (kind[i] === EventKind.op) nextOp = item + 1;
      else if (kind[i] === EventKind.enterModule)
        if (moduleEvents.phase[item] === Phase.forward && calls.module[moduleEvents.call[item]] === root)
          this.rootCalls.push(nextOp);
    }
  }

  private isWideFloat(storage: StorageIndex): boolean {
    const tensor = this.roles.firstTensor[storage];
    if (tensor < 0 || this.trace.storages.category[storage] === Category.parameter) return false;
    const dtype = this.trace.tensorDtype(tensor);
    return dtype.includes("float") && elementBytes(dtype) > elementBytes(this.casts.lowDtype);
  }
}

/** Returns the ops that read each storage. */
function readersByStorage(trace: Trace): readonly (readonly number[] | undefined)[] {
  const readers: number[][] = [];
  for (let op = 0; op < trace.ops.count; op++)
    for (const tensor of trace.opInputs(op)) (readers[trace.tensors.storage[tensor]] ??= []).push(op);
  return readers;
}
