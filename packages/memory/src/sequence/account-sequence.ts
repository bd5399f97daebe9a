import {
  Category,
  type CategoryName,
  categoryNames,
  type OpIndex,
  opEventPositions,
  row,
  type StorageIndex,
} from "@remat/trace";
import type { HeldStorages } from "../held/held-storages.js";
import { readMemoryEvents } from "../held/memory-events.js";
import type { MemoryTimeline } from "../held/memory-timeline.js";
import { forEachLife, LifeSums, nodeAt } from "./hold-sequence.js";
import type { TraceSequenceGraph } from "./sequence-graph-of-trace.js";

/**
 * The memory of a step whose ops run in a given sequence, some of them several times. It has the form of
 * `memoryTimeline` and `storagesAfterOp`.
 */
export interface SequenceAccount
  extends Pick<MemoryTimeline, "count" | "totalBytes" | "highestBytes" | "bytesByCategory"> {
  readonly peakBytes: number;
  /**
   * The op that runs at the peak, or for which another op is recomputed at the peak. It is -1 if only permanent memory
   * is ever in use.
   */
  readonly peakOp: number;
  /** For each op, how many times it is recomputed. */
  readonly recomputations: Uint16Array;
  /**
   * Returns all live storages at the end of an op, or, for -1, at the peak. Storages are those of the graph's trace.
   */
  heldAt(op: OpIndex): HeldStorages;
}

/**
 * Returns the memory of `sequence`, with the same peak as {@link holdSequence}. Returns undefined if the sequence
 * cannot run.
 *
 * @example
 * const { nodes } = sequenceOfPlan(plan, graph);
 * accountSequence(graph, nodes)?.peakBytes; // plan.predicted.peakBytes
 */
export function accountSequence(graph: TraceSequenceGraph, sequence: Int32Array): SequenceAccount | undefined {
  const account = new Account(graph, sequence);
  return account.canRun ? account : undefined;
}

class Account implements SequenceAccount {
  readonly canRun: boolean;
  readonly count: number;
  readonly totalBytes: Float64Array;
  readonly highestBytes: Float64Array;
  readonly bytesByCategory: ReadonlyMap<CategoryName, Float64Array>;
  readonly peakBytes: number;
  readonly peakOp: number;
  readonly recomputations: Uint16Array;
  private readonly graph: TraceSequenceGraph;
  private readonly sequence: Int32Array;
  private readonly peakStep: number;
  /** For each op, the step that first runs it. An op without a node has the step of the op before it. */
  private readonly stepOfOp: Int32Array;
  private readonly value: number[] = [];
  private readonly from: number[] = [];
  private readonly to: number[] = [];

  constructor(graph: TraceSequenceGraph, sequence: Int32Array) {
    this.graph = graph;
    this.sequence = sequence;
    this.count = graph.trace.ops.count;
    const sums = new LifeSums(graph, sequence.length);
    this.canRun = forEachLife(graph, sequence, (value, from, to) => {
      sums.add(value, from, to);
      this.value.push(value);
      this.from.push(from);
      this.to.push(to);
    });
    this.stepOfOp = new Int32Array(this.count).fill(-1);
    this.recomputations = new Uint16Array(this.count);
    this.totalBytes = new Float64Array(this.count).fill(graph.baseBytes);
    this.highestBytes = new Float64Array(this.count).fill(graph.baseBytes);
    let filled = 0;
    let most = 0;
    let left = graph.baseBytes;
    let peakBytes = graph.baseBytes;
    let peakStep = -1;
    sums.forEachStep(sequence, (step, heldBytes, leftBytes) => {
      most = Math.max(most, heldBytes);
      left = leftBytes;
      if (heldBytes > peakBytes) [peakBytes, peakStep] = [heldBytes, step];
      const op = sequence[step] < 0 ? -1 : graph.opOfNode[sequence[step]];
      if (op < 0) return;
      if (op < filled) {
        // An op that finishes the result in place may not have run for the first time yet.
        for (const again of row(graph.replayOps, sequence[step])) if (again < filled) this.recomputations[again]++;
        return;
      }
      // Ops without a node are counted with the next op that has one.
      for (; filled <= op; filled++) {
        this.stepOfOp[filled] = step;
        this.totalBytes[filled] = leftBytes;
        this.highestBytes[filled] = most;
      }
      most = 0;
    });
    if (filled > 0) {
      this.highestBytes[filled - 1] = Math.max(this.highestBytes[filled - 1], most);
      this.highestBytes.fill(this.highestBytes[filled - 1], filled);
    }
    this.totalBytes.fill(left, filled);
    this.stepOfOp.fill(sequence.length, filled);
    this.peakBytes = peakBytes;
    this.peakStep = peakStep;
    this.peakOp = peakStep < 0 ? -1 : this.opNextTo(peakStep);
    this.bytesByCategory = this.sumByCategory();
  }

  heldAt(op: OpIndex): HeldStorages {
    const { graph, sequence, peakStep } = this;
    const { trace, storageOfValue, bytes, baseStorages, baseSizes, workspaceBytes } = graph;
    const isPeak = op < 0;
    const step = isPeak ? peakStep : this.stepOfOp[op];
    const at = isPeak ? this.peakOp : op;
    const categories = this.categoriesAfter(at, isPeak);
    const storages: number[] = [];
    const sizes: number[] = [];
    const add = (storage: StorageIndex, size: number): void => {
      if (size <= 0) return;
      storages.push(storage);
      sizes.push(size);
    };
    baseStorages.forEach((storage, i) => add(storage, baseSizes[i]));
    for (let i = 0; i < this.value.length; i++)
      if (this.from[i] <= step && (this.to[i] > step || (isPeak && this.to[i] === step)))
        add(storageOfValue[this.value[i]], bytes[this.value[i]]);
    const ofStorages = storages.length;
    const running = isPeak && step >= 0 && sequence[step] >= 0 ? sequence[step] : -1;
    const scratch = running < 0 || !(workspaceBytes[running] > 0) ? -1 : this.scratchOf(graph.opOfNode[running]);
    if (scratch >= 0) add(scratch, workspaceBytes[running]);
    const order = storages.map((_, i) => i).sort((a, b) => storages[a] - storages[b]);
    const category = Uint8Array.from(order, (i) => (i < ofStorages ? categories[storages[i]] : Category.temporary));
    const held = new Map<CategoryName, number>();
    order.forEach((i, place) => {
      const name = categoryNames[category[place]];
      held.set(name, (held.get(name) ?? 0) + sizes[i]);
    });
    const makers = this.makers();
    return {
      device: trace.header.device,
      event: at < 0 ? -1 : opEventPositions(trace)[at],
      op: at,
      totalBytes: sizes.reduce((sum, size) => sum + size, 0),
      bytesByCategory: Object.fromEntries(held),
      count: order.length,
      storage: Int32Array.from(order, (i) => storages[i]),
      bytes: Float64Array.from(order, (i) => sizes[i]),
      category,
      maker: Int32Array.from(order, (i) => (i < ofStorages ? makers[storages[i]] : graph.opOfNode[running])),
      isScratch: Uint8Array.from(order, (i) => (i < ofStorages ? 0 : 1)),
    };
  }

  /** Returns the op that runs at a step. If JavaScript creates a storage at that step, returns the next op. */
  private opNextTo(step: number): number {
    const { opOfNode } = this.graph;
    for (let at = step; at < this.sequence.length; at++) {
      const op = opOfNode[nodeAt(this.sequence, at)];
      if (op >= 0) return op;
    }
    return this.count - 1;
  }

  /**
   * Returns the live bytes at the end of each op, by category. A storage counts in the category that it has at that
   * time.
   */
  private sumByCategory(): ReadonlyMap<CategoryName, Float64Array> {
    const { graph, count } = this;
    const { trace, baseStorages, baseSizes, storageOfValue, bytes } = graph;
    const columns = categoryNames.map((): Float64Array | undefined => undefined);
    const change = (category: number, from: number, to: number, size: number): void => {
      if (from >= to || size === 0) return;
      const column = (columns[category] ??= new Float64Array(count + 1));
      column[from] += size;
      column[to] -= size;
    };
    const changes = this.categoryChanges();
    const add = (storage: StorageIndex, from: number, to: number, size: number): void => {
      let category = trace.storages.category[storage];
      let at = from;
      for (const [op, next] of changes.get(storage) ?? []) {
        change(category, at, Math.min(op, to), size);
        at = Math.min(Math.max(at, op), to);
        category = next;
      }
      change(category, at, to, size);
    };
    baseStorages.forEach((storage, i) => add(storage, 0, count, baseSizes[i]));
    /** For each step, the first op that ends at this step or later. */
    const opFrom = new Int32Array(this.sequence.length + 1).fill(count);
    for (let op = count - 1; op >= 0; op--) opFrom[this.stepOfOp[op]] = op;
    for (let step = this.sequence.length - 1; step >= 0; step--)
      opFrom[step] = Math.min(opFrom[step], opFrom[step + 1]);
    for (let i = 0; i < this.value.length; i++)
      add(storageOfValue[this.value[i]], opFrom[this.from[i]], opFrom[this.to[i]], bytes[this.value[i]]);
    const found = new Map<CategoryName, Float64Array>();
    columns.forEach((column, category) => {
      if (column === undefined) return;
      for (let op = 1; op < count; op++) column[op] += column[op - 1];
      found.set(categoryNames[category], column.subarray(0, count));
    });
    return found;
  }

  /** Returns for each storage the ops after which its category changes. */
  private categoryChanges(): ReadonlyMap<number, readonly (readonly [op: number, category: number])[]> {
    const changes = new Map<number, (readonly [number, number])[]>();
    let next = 0;
    readMemoryEvents(this.graph.trace, {
      op: (op) => (next = op + 1),
      categorize(storage, category) {
        const list = changes.get(storage);
        if (list === undefined) changes.set(storage, [[next, category]]);
        else list.push([next, category]);
      },
    });
    return changes;
  }

  /** Returns the category of each storage at the end of an op, or while it runs. */
  private categoriesAfter(op: OpIndex, isRunning: boolean): Uint8Array {
    const { trace } = this.graph;
    const category = trace.storages.category.slice(0, trace.storages.count);
    if (op >= 0)
      readMemoryEvents(
        trace,
        { categorize: (storage, value) => (category[storage] = value) },
        0,
        opEventPositions(trace)[op] + (isRunning ? 0 : 1),
      );
    return category;
  }

  /** Returns for each storage the op that makes it, or -1. */
  private makers(): Int32Array {
    const { trace, opOfNode, storageOfValue, outputs, nodeCount } = this.graph;
    const maker = new Int32Array(trace.storages.count).fill(-1);
    for (let node = 0; node < nodeCount; node++)
      for (let i = outputs.start[node]; i < outputs.start[node + 1]; i++)
        maker[storageOfValue[outputs.values[i]]] = opOfNode[node];
    return maker;
  }

  /** Returns a storage that is scratch memory of an op, or -1. */
  private scratchOf(op: OpIndex): number {
    const { trace } = this.graph;
    const positions = opEventPositions(trace);
    let found = -1;
    readMemoryEvents(
      trace,
      { free: (storage) => (found = storage) },
      op > 0 ? positions[op - 1] + 1 : 0,
      positions[op],
    );
    return found;
  }
}
