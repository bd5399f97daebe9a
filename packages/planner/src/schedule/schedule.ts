import { nodeAt } from "@remat/memory/sequence";
import type { PlanningGraph } from "../graph/planning-graph.js";
import { copyBits, maxCopies, slotMask } from "./instances.js";
import { NodeCopies } from "./node-copies.js";
import { type ScheduleGraph, scheduleGraph } from "./schedule-graph.js";
import { SequenceBlocks } from "./sequence-blocks.js";
import { UndoJournal } from "./undo-journal.js";

/**
 * A sequence of computations that can be changed. It consists of instances of nodes, and each instance reads the latest
 * earlier instance of its inputs. The memory at every position, the total cost and the overflow over a budget are kept
 * up to date. Inserting or removing an instance takes time in proportion to the degree of its node and the square root
 * of the length. It does not depend on the length of the lifetimes that it changes.
 *
 * Invariants: every instance except the first of its node can be removed. The last instance is that of a node `end`
 * that reads the results. `lastUser` of an instance's value is the last instance that reads the value before its node
 * is recomputed, or the instance itself. @internal
 */
export class Schedule {
  readonly graph: PlanningGraph;
  readonly nodes: ScheduleGraph;
  /** The pseudo node that reads the results after everything else. */
  readonly end: number;
  readonly copies: NodeCopies;
  cost = 0;

  private readonly blocks: SequenceBlocks;
  private readonly lastUser: Int32Array;
  private readonly journal = new UndoJournal();
  private readonly undoPut = (x: number): void => this.take(x);
  private readonly undoTaken = (taken: number, successor: number): void => {
    const x = taken < 0 ? ~taken : taken;
    this.copies.takeSlotOf(x);
    this.isReloadOf[x] = taken < 0 ? 1 : 0;
    this.put(x, successor);
  };
  /** For each instance, 1 if it is a reload. A reload has no inputs. The first instance of a node is never a reload. */
  private readonly isReloadOf: Uint8Array;
  /** For each node, the number of its instances that reload. */
  private readonly reloads: Uint8Array;

  constructor(graph: PlanningGraph, budgetBytes: number, sequence: ArrayLike<number>) {
    this.graph = graph;
    this.nodes = scheduleGraph(graph);
    this.end = this.nodes.end;
    const nodeCount = graph.nodeCount + 1;
    this.copies = new NodeCopies(nodeCount);
    this.isReloadOf = new Uint8Array(nodeCount << copyBits);
    this.reloads = new Uint8Array(nodeCount);
    this.lastUser = new Int32Array(graph.valueCount << copyBits);
    this.blocks = new SequenceBlocks(nodeCount << copyBits, graph.nodeCount);
    this.load(sequence, budgetBytes);
  }

  /** Restarts from a valid sequence of node indices, possibly under another budget. */
  load(sequence: ArrayLike<number>, budgetBytes: number = this.budgetBytes): void {
    const { copies } = this;
    copies.clear();
    this.journal.clear();
    this.reloads.fill(0);
    this.cost = 0;
    const instances = new Int32Array(sequence.length + 1);
    for (let p = 0; p <= sequence.length; p++) {
      const v = p === sequence.length ? this.end : nodeAt(sequence, p);
      instances[p] = copies.takeSlot(v);
      this.isReloadOf[instances[p]] = sequence[p] < 0 ? 1 : 0;
      copies.insertAt(instances[p], copies.count[v]);
      this.addCost(instances[p]);
    }
    this.blocks.fill(instances, this.bindAll(instances), budgetBytes);
  }

  /** Changes the budget. The sequence stays as it is. */
  aimFor(budgetBytes: number): void {
    this.blocks.aimFor(budgetBytes);
  }

  /** Finds the last user of every value of every instance, and returns the bytes in use at each. */
  private bindAll(instances: Int32Array): Float64Array {
    const { lastUser, nodes } = this;
    const { bytes, producer, valueCount, baseBytes } = this.graph;
    const { inputStart, inputValues, outputStart, outputValues } = nodes;
    const latest = new Int32Array(valueCount).fill(-1);
    const change = new Float64Array(instances.length + 1);
    const lastRead = new Int32Array(valueCount);
    const close = (w: number) => {
      if (latest[w] < 0) return;
      lastUser[(w << copyBits) + (latest[w] & slotMask)] = instances[lastRead[w]];
      change[lastRead[w] + 1] -= bytes[w];
    };
    for (let p = 0; p < instances.length; p++) {
      const v = instances[p] >> copyBits;
      if (this.isReloadOf[instances[p]] === 0)
        for (let i = inputStart[v]; i < inputStart[v + 1]; i++) lastRead[inputValues[i]] = p;
      for (let i = outputStart[v]; i < outputStart[v + 1]; i++) {
        const w = outputValues[i];
        close(w);
        latest[w] = instances[p];
        lastRead[w] = p;
        change[p] += bytes[w];
      }
    }
    for (let w = 0; w < producer.length; w++) close(w);
    const memory = new Float64Array(instances.length);
    let held = baseBytes;
    for (let p = 0; p < instances.length; p++) {
      held += change[p];
      memory[p] = held + (this.isReload(instances[p]) ? 0 : nodes.workspaceBytes[instances[p] >> copyBits]);
    }
    return memory;
  }

  /** Returns the node indices in order, without the pseudo node. */
  sequence(): Int32Array {
    const sequence = new Int32Array(this.length - 1);
    let x = -1;
    for (let p = 0; p < sequence.length; p++) {
      x = this.blocks.next(x);
      sequence[p] = this.isReload(x) ? ~(x >> copyBits) : x >> copyBits;
    }
    return sequence;
  }

  /** Number of instances, including that of the pseudo node. */
  get length(): number {
    return this.blocks.length;
  }

  get budgetBytes(): number {
    return this.blocks.budgetBytes;
  }

  get overflow(): number {
    return this.blocks.overflow;
  }

  get peakBytes(): number {
    return this.blocks.peakBytes;
  }

  nodeOf(instance: number): number {
    return instance >> copyBits;
  }

  isReload(instance: number): boolean {
    return this.isReloadOf[instance] === 1;
  }

  /** Returns the cost of reloading `v` once more, or infinite if this is impossible. */
  reloadCost(v: number): number {
    const { transfers } = this.graph;
    if (transfers === undefined || v === this.end) return Number.POSITIVE_INFINITY;
    return transfers.reload[v] + (this.reloads[v] === 0 ? transfers.offload[v] : 0);
  }

  keyOf(instance: number): number {
    return this.blocks.keyOf(instance);
  }

  memoryAt(instance: number): number {
    return this.blocks.memoryAt(instance);
  }

  next(instance: number): number {
    return this.blocks.next(instance);
  }

  previous(instance: number): number {
    return this.blocks.previous(instance);
  }

  pick(uniform: number): number {
    return this.blocks.pick(uniform);
  }

  pickOverBudget(uniform: number): number {
    return this.blocks.pickOverBudget(uniform);
  }

  copyAt(v: number, j: number): number {
    return this.copies.instances[(v << copyBits) + j];
  }

  firstCopy(v: number): number {
    return this.copies.instances[v << copyBits];
  }

  lastUserOf(value: number, instance: number): number {
    return this.lastUser[(value << copyBits) + (instance & slotMask)];
  }

  /**
   * Returns the instance whose `value` a reader at `key` gets: the latest instance before it, or -1 if none exists.
   */
  boundAt(value: number, key: number): number {
    const { count, instances } = this.copies;
    const v = this.graph.producer[value];
    for (let j = (v << copyBits) + count[v] - 1; j >= v << copyBits; j--)
      if (this.keyOf(instances[j]) < key) return instances[j];
    return -1;
  }

  /** Returns the first reader of `value` after `key`, or -1. */
  firstUseAfter(value: number, key: number): number {
    const { consumerStart, consumerValues } = this.nodes;
    const { count, instances } = this.copies;
    let best = -1;
    let bestKey = Number.POSITIVE_INFINITY;
    for (let i = consumerStart[value]; i < consumerStart[value + 1]; i++) {
      const base = consumerValues[i] << copyBits;
      const last = base + count[consumerValues[i]];
      for (let j = base; j < last; j++) {
        const k = this.keyOf(instances[j]);
        if (k <= key || this.isReloadOf[instances[j]] === 1) continue;
        if (k < bestKey) {
          bestKey = k;
          best = instances[j];
        }
        break;
      }
    }
    return best;
  }

  /** Returns the last reader of `value` strictly between two keys, or `otherwise`. */
  private lastUseWithin(value: number, low: number, high: number, otherwise: number): number {
    const { consumerStart, consumerValues } = this.nodes;
    const { count, instances } = this.copies;
    let best = otherwise;
    let bestKey = low;
    for (let i = consumerStart[value]; i < consumerStart[value + 1]; i++) {
      const base = consumerValues[i] << copyBits;
      for (let j = base + count[consumerValues[i]] - 1; j >= base; j--) {
        const k = this.keyOf(instances[j]);
        if (k >= high || this.isReloadOf[instances[j]] === 1) continue;
        if (k > bestKey) {
          bestKey = k;
          best = instances[j];
        }
        break;
      }
    }
    return best;
  }

  reads(instance: number, value: number): boolean {
    const { inputStart, inputValues } = this.nodes;
    if (this.isReload(instance)) return false;
    const v = instance >> copyBits;
    for (let i = inputStart[v]; i < inputStart[v + 1]; i++) if (inputValues[i] === value) return true;
    return false;
  }

  canInsert(v: number): boolean {
    return this.copies.count[v] < maxCopies;
  }

  /**
   * Runs `v` once more right before `successor`, or reloads it there. Its inputs must exist before, and a reload must
   * follow a run.
   */
  insert(v: number, successor: number, isReload = false): number {
    const x = this.copies.takeSlot(v);
    this.isReloadOf[x] = isReload ? 1 : 0;
    this.put(x, successor);
    this.journal.notePut(x);
    return x;
  }

  /** Removes `x`. Its readers get the previous instance of its node, if there is one. */
  remove(x: number): void {
    const successor = this.next(x);
    this.take(x);
    this.journal.noteTaken(this.isReload(x) ? ~x : x, successor);
  }

  /** Marks the current state. Changes from here on can be undone. */
  mark(): void {
    this.journal.clear();
  }

  /** Undoes all changes since `mark`. */
  undo(): void {
    this.journal.unwind(this.undoPut, this.undoTaken);
  }

  private addCost(x: number): void {
    const v = x >> copyBits;
    if (!this.isReload(x)) this.cost += this.nodes.cost[v];
    else {
      this.cost += this.reloadCost(v);
      this.reloads[v]++;
    }
  }

  private takeCost(x: number): void {
    const v = x >> copyBits;
    if (!this.isReload(x)) this.cost -= this.nodes.cost[v];
    else {
      this.reloads[v]--;
      this.cost -= this.reloadCost(v);
    }
  }

  /** Returns the bytes that an instance uses while it runs, in addition to its inputs. */
  private ownBytesOf(x: number): number {
    const v = x >> copyBits;
    const { ownBytes, workspaceBytes } = this.nodes;
    return this.isReload(x) ? ownBytes[v] - workspaceBytes[v] : ownBytes[v];
  }

  private put(x: number, successor: number): void {
    const { lastUser, blocks, copies } = this;
    const { bytes } = this.graph;
    const { inputStart, inputValues, outputStart, outputValues } = this.nodes;
    const v = x >> copyBits;
    const slot = x & slotMask;
    const crossing = blocks.memoryAt(successor) - this.ownBytesOf(successor);
    blocks.insert(x, successor, crossing + this.ownBytesOf(x));
    this.addCost(x);
    const key = blocks.keyOf(x);
    const base = v << copyBits;
    let j = copies.count[v];
    while (j > 0 && blocks.keyOf(copies.instances[base + j - 1]) > key) j--;
    copies.insertAt(x, j);
    const before = j > 0 ? copies.instances[base + j - 1] : -1;
    const high = j + 1 < copies.count[v] ? blocks.keyOf(copies.instances[base + j + 1]) : Number.POSITIVE_INFINITY;
    for (let i = outputStart[v]; i < outputStart[v + 1]; i++) {
      const w = outputValues[i];
      if (before < 0) {
        const last = this.lastUseWithin(w, key, high, x);
        lastUser[(w << copyBits) + slot] = last;
        blocks.addAfter(x, last, bytes[w]);
        continue;
      }
      const atBefore = (w << copyBits) + (before & slotMask);
      const last = lastUser[atBefore];
      if (blocks.keyOf(last) < key) {
        lastUser[(w << copyBits) + slot] = x;
        continue;
      }
      lastUser[(w << copyBits) + slot] = last;
      const shortened = this.lastUseWithin(w, blocks.keyOf(before), key, before);
      lastUser[atBefore] = shortened;
      // Before x the value need not be alive. At x it was counted twice, as passing by and as an output.
      blocks.addAfter(shortened, x, -bytes[w]);
    }
    if (this.isReload(x)) return;
    for (let i = inputStart[v]; i < inputStart[v + 1]; i++) {
      const w = inputValues[i];
      const at = (w << copyBits) + (this.boundAt(w, key) & slotMask);
      const last = lastUser[at];
      if (blocks.keyOf(last) >= key) continue;
      lastUser[at] = x;
      blocks.addAfter(last, x, bytes[w]);
    }
  }

  private take(x: number): void {
    const { lastUser, blocks, copies } = this;
    const { bytes } = this.graph;
    const { inputStart, inputValues, outputStart, outputValues } = this.nodes;
    const v = x >> copyBits;
    const slot = x & slotMask;
    const key = blocks.keyOf(x);
    const inputEnd = this.isReload(x) ? inputStart[v] : inputStart[v + 1];
    for (let i = inputStart[v]; i < inputEnd; i++) {
      const w = inputValues[i];
      const bound = this.boundAt(w, key);
      const at = (w << copyBits) + (bound & slotMask);
      if (lastUser[at] !== x) continue;
      const last = this.lastUseWithin(w, blocks.keyOf(bound), key, bound);
      lastUser[at] = last;
      blocks.addAfter(last, x, -bytes[w]);
    }
    const base = v << copyBits;
    let j = 0;
    while (copies.instances[base + j] !== x) j++;
    const before = j > 0 ? copies.instances[base + j - 1] : -1;
    for (let i = outputStart[v]; i < outputStart[v + 1]; i++) {
      const w = outputValues[i];
      const last = lastUser[(w << copyBits) + slot];
      if (last === x) continue;
      if (before < 0) {
        blocks.addAfter(x, last, -bytes[w]);
        continue;
      }
      const atBefore = (w << copyBits) + (before & slotMask);
      const lastOfBefore = lastUser[atBefore];
      lastUser[atBefore] = last;
      blocks.addAfter(lastOfBefore, x, bytes[w]);
    }
    copies.removeAt(x, j);
    this.takeCost(x);
    blocks.remove(x);
  }
}
