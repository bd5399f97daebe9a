import { Category, EventKind, Phase, row, type Trace } from "@remat/trace";
import type { CastStorages } from "./cast-storages.js";
import type { RankTrace } from "./rank-trace.js";
import { elementBytes } from "./sharding-plan.js";
import type { SourceStorages } from "./source-storages.js";
import type { StorageRoles } from "./storage-roles.js";

interface CastOutput {
  readonly elements: number;
  readonly shape: readonly number[];
}

/** The copies that casts make under mixed precision: of inputs, of outputs that are cast up, and of the gradients of those. */
export class CastCopies {
  private readonly trace: Trace;
  private readonly casts: CastStorages;
  private readonly roles: StorageRoles;
  private readonly storages: SourceStorages;
  private readonly out: RankTrace;
  /** By input of the root: the ops that read it. */
  private readonly reads = new Map<number, number[]>();
  /** 1: storages in the lower dtype that the backward pass reads. */
  private readonly readBackward: Uint8Array;
  /** Ops of the source before which the root is called. */
  private readonly rootCalls: number[] = [];
  private readonly freeAfter = new Map<number, number[]>();
  /** Read for the last time, but not freed. */
  private readonly released: number[] = [];
  private readonly wide = new Map<number, number>();
  private readonly outputs = new Map<number, CastOutput[]>();
  private readonly gradients = new Map<number, number[]>();
  private readers: readonly (readonly number[] | undefined)[] | undefined;

  constructor(
    trace: Trace,
    casts: CastStorages,
    roles: StorageRoles,
    storages: SourceStorages,
    out: RankTrace,
    root: number,
  ) {
    this.trace = trace;
    this.casts = casts;
    this.roles = roles;
    this.storages = storages;
    this.out = out;
    this.readBackward = new Uint8Array(trace.storages.count);
    this.collectReads(root);
  }

  /** What a call of a sharded module is given in another dtype than the one it computes in, where others compute in another. */
  castUnitInputs(module: number, eventRow: number, nextOp: number): void {
    const { trace, out } = this;
    const wanted = this.casts.inputs.get(module);
    if (wanted === undefined) return;
    const call = trace.moduleEvents.call[eventRow];
    for (const tensor of row(trace.moduleEvents.tensors, eventRow)) {
      const storage = trace.tensors.storage[tensor];
      if (!wanted.has(storage)) continue;
      const dtype = this.casts.castsUp.has(module) ? trace.tensorDtype(tensor) : this.casts.lowDtype;
      const [copy] = out.fsdpOp("aten._to_copy", Phase.forward, call, [this.copyOf(tensor, dtype)]);
      out.stand(copy, storage);
      const last = this.lastReadIn(storage, call, nextOp);
      if (last === undefined) out.free(copy);
      else this.freeAfterOp(last, copy);
    }
  }

  /** Gradients that leave a sharded module in another dtype than that of its input. */
  castLeaving(module: number, call: number): void {
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

  /** The last op in a call, or in its backward pass, that reads a storage. */
  private lastReadIn(storage: number, call: number, nextOp: number): number | undefined {
    return this.readersOf(storage).findLast((op) => op >= nextOp && this.trace.opCalls(op).includes(call));
  }

  /** Inputs of a call of the root, cast to the parameters' dtype; each copy lives until it has been read last. */
  castInputs(eventRow: number, nextOp: number): void {
    const { trace, out } = this;
    const until = this.rootCalls.find((op) => op > nextOp) ?? trace.ops.count;
    for (const tensor of row(trace.moduleEvents.tensors, eventRow)) {
      const storage = trace.tensors.storage[tensor];
      const reads = this.reads.get(storage);
      if (reads === undefined) continue;
      const call = trace.moduleEvents.call[eventRow];
      const [copy] = out.fsdpOp("aten._to_copy", Phase.forward, call, [this.copyOf(tensor, this.casts.lowDtype)]);
      const last = reads.findLast((op) => op >= nextOp && op < until);
      if (last === undefined) {
        out.free(copy);
        continue;
      }
      out.stand(copy, storage);
      this.freeAfterOp(last, copy);
    }
  }

  private freeAfterOp(op: number, copy: number): void {
    const list = this.freeAfter.get(op);
    if (list === undefined) this.freeAfter.set(op, [copy]);
    else list.push(copy);
  }

  private readersOf(storage: number): readonly number[] {
    this.readers ??= readersByStorage(this.trace);
    return this.readers[storage] ?? [];
  }

  /** Outputs of a module that are cast up once it has run. What autograd does not need of the narrow ones goes at once. */
  castOutputs(eventRow: number, event: number): void {
    const { trace, out } = this;
    const call = trace.moduleEvents.call[eventRow];
    const made: CastOutput[] = [];
    for (const { storage, dtype } of this.casts.explicit.get(event) ?? []) {
      const tensor = Array.from(row(trace.moduleEvents.tensors, eventRow)).find(
        (t) => trace.tensors.storage[t] === storage,
      );
      if (tensor === undefined) continue;
      const [copy] = out.fsdpOp("aten._to_copy", Phase.forward, call, [this.copyOf(tensor, dtype)]);
      this.wide.set(storage, copy);
      out.stand(copy, storage);
      if (this.readBackward[storage] === 0) out.free(this.storages.ownOf(storage));
      made.push({ elements: elementsOf(trace, tensor), shape: trace.tensorShape(tensor) });
    }
    if (made.length > 0) this.outputs.set(trace.calls.module[call], made);
  }

  /** The gradients of outputs that were cast up, cast down as the module's backward pass begins. */
  castGradients(module: number, call: number): void {
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

  endBackward(module: number): void {
    for (const copy of this.gradients.get(module) ?? []) this.out.free(copy);
    this.gradients.delete(module);
  }

  afterOp(op: number): void {
    const copies = this.freeAfter.get(op);
    if (copies === undefined) return;
    this.released.push(...copies);
    this.freeAfter.delete(op);
  }

  /** Frees what has been read last. A node of autograd frees all it saved at once, so that is when the source frees something. */
  release(): void {
    for (const copy of this.released.splice(0)) this.out.free(copy);
  }

  /** A storage of the source is freed, and with it the copies that stand for it. */
  free(storage: number): void {
    this.release();
    const copy = this.wide.get(storage);
    if (copy !== undefined) this.out.free(copy);
    this.wide.delete(storage);
  }

  private copyOf(tensor: number, dtype: string): { bytes: number; dtype: string; shape: readonly number[] } {
    return {
      bytes: elementsOf(this.trace, tensor) * elementBytes(dtype),
      dtype,
      shape: this.trace.tensorShape(tensor),
    };
  }

  private collectReads(root: number): void {
    const { trace, roles, casts } = this;
    for (let s = 0; s < trace.storages.count; s++)
      if (roles.isInput[s] === 1 && this.isWideFloat(s)) this.reads.set(s, []);
    const { kind, subject, count } = trace.events;
    let nextOp = 0;
    for (let i = 0; i < count; i++) {
      if (kind[i] === EventKind.enterModule) {
        const { call, phase } = trace.moduleEvents;
        if (phase[subject[i]] === Phase.forward && trace.calls.module[call[subject[i]]] === root)
          this.rootCalls.push(nextOp);
      }
      if (kind[i] !== EventKind.op) continue;
      nextOp = subject[i] + 1;
      const backward = trace.ops.phase[subject[i]] === Phase.backward;
      for (const tensor of trace.opInputs(subject[i])) {
        const s = trace.tensors.storage[tensor];
        this.reads.get(s)?.push(subject[i]);
        if (backward && casts.isLow[s] === 1) this.readBackward[s] = 1;
      }
    }
  }

  private isWideFloat(storage: number): boolean {
    const tensor = this.roles.firstTensor[storage];
    if (tensor < 0 || this.trace.storages.category[storage] === Category.parameter) return false;
    const dtype = this.trace.tensorDtype(tensor);
    return dtype.includes("float") && elementBytes(dtype) > elementBytes(this.casts.lowDtype);
  }
}

/** By storage: the ops that read it. */
function readersByStorage(trace: Trace): readonly (readonly number[] | undefined)[] {
  const readers: number[][] = [];
  for (let op = 0; op < trace.ops.count; op++)
    for (const tensor of trace.opInputs(op)) (readers[trace.tensors.storage[tensor]] ??= []).push(op);
  return readers;
}

function elementsOf(trace: Trace, tensor: number): number {
  return trace.tensorShape(tensor).reduce((product, n) => product * n, 1);
}
