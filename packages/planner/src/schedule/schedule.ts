import { type PlanningGraph, transpose } from "../graph/planning-graph.js";

/** Copies of one node that a sequence may hold; a power of two. */
const copyBits = 4;
export const maxCopies: number = 1 << copyBits;
const initialBlocks = 16;

/**
 * A sequence of computations under change: instances of nodes, each reading the latest earlier instance of what it reads, with memory at
 * every position, total cost and overflow over a budget kept up to date. Inserting or removing an instance costs the degree of its node
 * and the square root of the length, whatever the length of the lifetimes it changes.
 *
 * Positions are in blocks: an instance is at an index of a block, a block has a rank. A block's memory is `add` plus what is noted at
 * the index, so that a lifetime over many blocks touches one number in each. Overflow is the sum over blocks of how far the largest
 * memory in the block is over the budget.
 *
 * Invariants: every instance but the first of its node can be removed; the last instance is that of a node `end` which reads the
 * results; `lastUser` of a value of an instance is the last instance that reads it before its node runs again, or the instance itself.
 */
export class Schedule {
  readonly graph: PlanningGraph;
  /** The pseudo node that reads the results after everything else. */
  readonly end: number;
  budgetBytes: number;
  cost = 0;
  overflow = 0;
  length = 0;

  /** Per node how many instances there are, and which, in order of position: `copies[(v << copyBits) + j]`. */
  readonly copyCount: Uint8Array;
  readonly copies: Int32Array;
  /** Nodes that have several instances, in no order. */
  readonly repeated: Int32Array;
  repeatedCount = 0;
  private readonly placeInRepeated: Int32Array;
  private readonly usedSlots: Int32Array;
  private readonly lastUser: Int32Array;
  private readonly blockOf: Int32Array;
  private readonly indexOf: Int32Array;

  readonly nodeCost: Float64Array;
  private readonly ownBytes: Float64Array;
  readonly bytes: Float64Array;
  readonly producer: Int32Array;
  readonly inputStart: Int32Array;
  readonly inputValues: Int32Array;
  readonly outputStart: Int32Array;
  readonly outputValues: Int32Array;
  private readonly consumerStart: Int32Array;
  private readonly consumerValues: Int32Array;

  private readonly capacity: number;
  private blockCount = 0;
  private blockInstances: Int32Array;
  private blockMemory: Float64Array;
  private blockSize: Int32Array;
  private blockAdd: Float64Array;
  private blockMax: Float64Array;
  /** Position of a block's first instance, comparable across blocks. */
  private blockKey: Float64Array;
  private blockAtRank: Int32Array;

  /** Instances put in and taken out since `mark`, to be undone in reverse. */
  private journal = new Int32Array(256);
  private journalLength = 0;

  constructor(graph: PlanningGraph, budgetBytes: number, sequence: ArrayLike<number>) {
    this.graph = graph;
    this.budgetBytes = budgetBytes;
    this.end = graph.nodeCount;
    const nodeCount = graph.nodeCount + 1;
    const inputs = withRow(graph.inputs, resultsOf(graph));
    const outputs = withRow(graph.outputs, []);
    const consumers = transpose(inputs, graph.valueCount);
    this.inputStart = inputs.start;
    this.inputValues = inputs.values;
    this.outputStart = outputs.start;
    this.outputValues = outputs.values;
    this.consumerStart = consumers.start;
    this.consumerValues = consumers.values;
    this.bytes = graph.bytes;
    this.producer = graph.producer;
    this.nodeCost = new Float64Array(nodeCount);
    this.nodeCost.set(graph.cost);
    this.ownBytes = new Float64Array(nodeCount);
    for (let v = 0; v < graph.nodeCount; v++) {
      let sum = graph.workspaceBytes[v];
      for (let i = outputs.start[v]; i < outputs.start[v + 1]; i++) sum += graph.bytes[outputs.values[i]];
      this.ownBytes[v] = sum;
    }
    this.copyCount = new Uint8Array(nodeCount);
    this.copies = new Int32Array(nodeCount << copyBits);
    this.repeated = new Int32Array(nodeCount);
    this.placeInRepeated = new Int32Array(nodeCount);
    this.usedSlots = new Int32Array(nodeCount);
    this.lastUser = new Int32Array(graph.valueCount << copyBits);
    this.blockOf = new Int32Array(nodeCount << copyBits);
    this.indexOf = new Int32Array(nodeCount << copyBits);
    // Near the square root of the length; a power of two keeps keys exact.
    this.capacity = graph.nodeCount < 512 ? 16 : graph.nodeCount < 4096 ? 32 : 128;
    this.blockInstances = new Int32Array(initialBlocks * this.capacity);
    this.blockMemory = new Float64Array(initialBlocks * this.capacity);
    this.blockSize = new Int32Array(initialBlocks);
    this.blockAdd = new Float64Array(initialBlocks);
    this.blockMax = new Float64Array(initialBlocks);
    this.blockKey = new Float64Array(initialBlocks);
    this.blockAtRank = new Int32Array(initialBlocks);
    this.load(sequence);
  }

  /** Starts again from a sequence of node indices that can run, maybe under another budget. */
  load(sequence: ArrayLike<number>, budgetBytes: number = this.budgetBytes): void {
    this.budgetBytes = budgetBytes;
    this.copyCount.fill(0);
    this.usedSlots.fill(0);
    this.repeatedCount = 0;
    this.journalLength = 0;
    this.cost = 0;
    this.length = sequence.length + 1;
    const { capacity } = this;
    const perBlock = capacity >> 1;
    const blocks = Math.ceil(this.length / perBlock);
    this.blockCount = 0;
    while (this.blockSize.length < blocks) this.growBlocks();
    this.blockCount = blocks;
    for (let b = 0; b < blocks; b++) {
      this.blockAtRank[b] = b;
      this.blockKey[b] = b * capacity;
      this.blockSize[b] = Math.min(perBlock, this.length - b * perBlock);
      this.blockAdd[b] = 0;
    }
    const instances = new Int32Array(this.length);
    for (let p = 0; p < this.length; p++) {
      const v = p === sequence.length ? this.end : sequence[p];
      const x = this.takeSlot(v);
      this.copies[(v << copyBits) + this.copyCount[v]++] = x;
      if (this.copyCount[v] === 2) this.addRepeated(v);
      instances[p] = x;
      const b = (p / perBlock) | 0;
      this.blockOf[x] = b;
      this.indexOf[x] = p - b * perBlock;
      this.blockInstances[b * capacity + this.indexOf[x]] = x;
      this.cost += this.nodeCost[v];
    }
    this.bindAll(instances, perBlock);
  }

  private bindAll(instances: Int32Array, perBlock: number): void {
    const { capacity, bytes, lastUser } = this;
    const change = new Float64Array(instances.length + 1);
    const latest = new Int32Array(this.graph.valueCount).fill(-1);
    const positionOf = (x: number) => this.blockOf[x] * perBlock + this.indexOf[x];
    for (let p = 0; p < instances.length; p++) {
      const x = instances[p];
      const v = x >> copyBits;
      for (let i = this.inputStart[v]; i < this.inputStart[v + 1]; i++) {
        const w = this.inputValues[i];
        lastUser[(w << copyBits) + (latest[w] & (maxCopies - 1))] = x;
      }
      for (let i = this.outputStart[v]; i < this.outputStart[v + 1]; i++) {
        const w = this.outputValues[i];
        latest[w] = x;
        lastUser[(w << copyBits) + (x & (maxCopies - 1))] = x;
      }
    }
    for (let p = 0; p < instances.length; p++) {
      const x = instances[p];
      const v = x >> copyBits;
      for (let i = this.outputStart[v]; i < this.outputStart[v + 1]; i++) {
        const w = this.outputValues[i];
        change[p] += bytes[w];
        change[positionOf(lastUser[(w << copyBits) + (x & (maxCopies - 1))]) + 1] -= bytes[w];
      }
    }
    let held = this.graph.baseBytes;
    for (let p = 0; p < instances.length; p++) {
      held += change[p];
      const x = instances[p];
      const v = x >> copyBits;
      const workspace = v === this.end ? 0 : this.graph.workspaceBytes[v];
      this.blockMemory[this.blockOf[x] * capacity + this.indexOf[x]] = held + workspace;
    }
    this.overflow = 0;
    for (let b = 0; b < this.blockCount; b++) this.overflow += this.measure(b);
  }

  /** The node indices in order, without the pseudo node. */
  sequence(): Int32Array {
    const nodes = new Int32Array(this.length - 1);
    let p = 0;
    for (let r = 0; r < this.blockCount; r++) {
      const b = this.blockAtRank[r];
      for (let j = 0; j < this.blockSize[b]; j++) {
        const v = this.blockInstances[b * this.capacity + j] >> copyBits;
        if (v !== this.end) nodes[p++] = v;
      }
    }
    return nodes;
  }

  get peakBytes(): number {
    let peak = 0;
    for (let b = 0; b < this.blockCount; b++)
      if (this.blockSize[b] > 0) peak = Math.max(peak, this.blockAdd[b] + this.blockMax[b]);
    return peak;
  }

  nodeOf(instance: number): number {
    return instance >> copyBits;
  }

  /** Comparable place of an instance in the sequence; changes with the sequence. */
  keyOf(instance: number): number {
    return this.blockKey[this.blockOf[instance]] + this.indexOf[instance];
  }

  copyAt(v: number, j: number): number {
    return this.copies[(v << copyBits) + j];
  }

  firstCopy(v: number): number {
    return this.copies[v << copyBits];
  }

  memoryAt(instance: number): number {
    const b = this.blockOf[instance];
    return this.blockAdd[b] + this.blockMemory[b * this.capacity + this.indexOf[instance]];
  }

  lastUserOf(value: number, instance: number): number {
    return this.lastUser[(value << copyBits) + (instance & (maxCopies - 1))];
  }

  /** The first instance of all. */
  first(): number {
    for (let r = 0; r < this.blockCount; r++) {
      const b = this.blockAtRank[r];
      if (this.blockSize[b] > 0) return this.blockInstances[b * this.capacity];
    }
    return -1;
  }

  /** The instance that follows, or -1. */
  next(instance: number): number {
    const b = this.blockOf[instance];
    const j = this.indexOf[instance] + 1;
    if (j < this.blockSize[b]) return this.blockInstances[b * this.capacity + j];
    for (let r = this.blockKey[b] / this.capacity + 1; r < this.blockCount; r++) {
      const c = this.blockAtRank[r];
      if (this.blockSize[c] > 0) return this.blockInstances[c * this.capacity];
    }
    return -1;
  }

  /** The instance before, or -1. */
  previous(instance: number): number {
    const b = this.blockOf[instance];
    const j = this.indexOf[instance] - 1;
    if (j >= 0) return this.blockInstances[b * this.capacity + j];
    for (let r = this.blockKey[b] / this.capacity - 1; r >= 0; r--) {
      const c = this.blockAtRank[r];
      if (this.blockSize[c] > 0) return this.blockInstances[c * this.capacity + this.blockSize[c] - 1];
    }
    return -1;
  }

  /** An instance chosen by a number in [0, 1): uniform over blocks, then within. */
  pick(uniform: number): number {
    const scaled = uniform * this.blockCount;
    for (let r = scaled | 0, tries = 0; tries < this.blockCount; tries++, r = r + 1 === this.blockCount ? 0 : r + 1) {
      const b = this.blockAtRank[r];
      const size = this.blockSize[b];
      if (size > 0) return this.blockInstances[b * this.capacity + (((scaled % 1) * size) | 0)];
    }
    return -1;
  }

  /** An instance whose memory is over the budget, the first at or after a block chosen by a number in [0, 1); -1 if none is. */
  pickOverBudget(uniform: number): number {
    const { blockCount, budgetBytes, capacity } = this;
    let r = (uniform * blockCount) | 0;
    for (let tries = 0; tries < blockCount; tries++, r = r + 1 === blockCount ? 0 : r + 1) {
      const b = this.blockAtRank[r];
      const limit = budgetBytes - this.blockAdd[b];
      if (this.blockSize[b] === 0 || this.blockMax[b] <= limit) continue;
      // The worst of the block: what helps it mostly helps its neighbours.
      for (let j = 0; j < this.blockSize[b]; j++)
        if (this.blockMemory[b * capacity + j] === this.blockMax[b]) return this.blockInstances[b * capacity + j];
    }
    return -1;
  }

  /** The instance that a reader of `value` at `key` gets: the latest before it; -1 if there is none. */
  boundAt(value: number, key: number): number {
    const v = this.producer[value];
    for (let j = (v << copyBits) + this.copyCount[v] - 1; j >= v << copyBits; j--)
      if (this.keyOf(this.copies[j]) < key) return this.copies[j];
    return -1;
  }

  /** The first reader of `value` after `key`, or -1. */
  firstUseAfter(value: number, key: number): number {
    const { consumerStart, consumerValues, copies, copyCount } = this;
    let best = -1;
    let bestKey = Number.POSITIVE_INFINITY;
    for (let i = consumerStart[value]; i < consumerStart[value + 1]; i++) {
      const base = consumerValues[i] << copyBits;
      const last = base + copyCount[consumerValues[i]];
      for (let j = base; j < last; j++) {
        const k = this.keyOf(copies[j]);
        if (k <= key) continue;
        if (k < bestKey) {
          bestKey = k;
          best = copies[j];
        }
        break;
      }
    }
    return best;
  }

  /** The last reader of `value` strictly between two keys, or `otherwise`. */
  private lastUseWithin(value: number, low: number, high: number, otherwise: number): number {
    const { consumerStart, consumerValues, copies, copyCount } = this;
    let best = otherwise;
    let bestKey = low;
    for (let i = consumerStart[value]; i < consumerStart[value + 1]; i++) {
      const base = consumerValues[i] << copyBits;
      for (let j = base + copyCount[consumerValues[i]] - 1; j >= base; j--) {
        const k = this.keyOf(copies[j]);
        if (k >= high) continue;
        if (k > bestKey) {
          bestKey = k;
          best = copies[j];
        }
        break;
      }
    }
    return best;
  }

  reads(v: number, value: number): boolean {
    for (let i = this.inputStart[v]; i < this.inputStart[v + 1]; i++) if (this.inputValues[i] === value) return true;
    return false;
  }

  /** Whether `instance`, which has been in the sequence, still is. */
  contains(instance: number): boolean {
    return (this.usedSlots[instance >> copyBits] & (1 << (instance & (maxCopies - 1)))) !== 0;
  }

  canInsert(v: number): boolean {
    return this.copyCount[v] < maxCopies;
  }

  /** Runs `v` once more, right before `successor`. What it reads must have been made before. */
  insert(v: number, successor: number): number {
    const x = this.takeSlot(v);
    this.put(x, successor);
    this.note(x, -1);
    return x;
  }

  /** Takes `x` out; its readers get the instance of its node before it, if there is one. */
  remove(x: number): void {
    const successor = this.next(x);
    this.take(x);
    this.note(x, successor);
  }

  /** What is done from here on can be undone. */
  mark(): void {
    this.journalLength = 0;
  }

  /** Undoes everything since `mark`. */
  undo(): void {
    while (this.journalLength > 0) {
      const successor = this.journal[--this.journalLength];
      const x = this.journal[--this.journalLength];
      if (successor < 0) this.take(x);
      else {
        this.usedSlots[x >> copyBits] |= 1 << (x & (maxCopies - 1));
        this.put(x, successor);
      }
    }
  }

  private note(x: number, successor: number): void {
    if (this.journalLength + 2 > this.journal.length) {
      const larger = new Int32Array(this.journal.length * 2);
      larger.set(this.journal);
      this.journal = larger;
    }
    this.journal[this.journalLength++] = x;
    this.journal[this.journalLength++] = successor;
  }

  private addRepeated(v: number): void {
    this.placeInRepeated[v] = this.repeatedCount;
    this.repeated[this.repeatedCount++] = v;
  }

  private takeSlot(v: number): number {
    const slot = 31 - Math.clz32(~this.usedSlots[v] & -~this.usedSlots[v]);
    this.usedSlots[v] |= 1 << slot;
    return (v << copyBits) + slot;
  }

  private put(x: number, successor: number): void {
    const { lastUser, bytes, inputStart, inputValues, outputStart, outputValues, copies } = this;
    const v = x >> copyBits;
    const slot = x & (maxCopies - 1);
    const crossing = this.memoryAt(successor) - this.ownBytes[successor >> copyBits];
    this.place(x, successor, crossing + this.ownBytes[v]);
    this.length++;
    this.cost += this.nodeCost[v];
    const key = this.keyOf(x);
    const base = v << copyBits;
    let j = base + this.copyCount[v];
    while (j > base && this.keyOf(copies[j - 1]) > key) {
      copies[j] = copies[j - 1];
      j--;
    }
    copies[j] = x;
    if (++this.copyCount[v] === 2) this.addRepeated(v);
    const before = j > base ? copies[j - 1] : -1;
    const high = j + 1 < base + this.copyCount[v] ? this.keyOf(copies[j + 1]) : Number.POSITIVE_INFINITY;
    for (let i = outputStart[v]; i < outputStart[v + 1]; i++) {
      const w = outputValues[i];
      if (before < 0) {
        const last = this.lastUseWithin(w, key, high, x);
        lastUser[(w << copyBits) + slot] = last;
        this.addAfter(x, last, bytes[w]);
        continue;
      }
      const atBefore = (w << copyBits) + (before & (maxCopies - 1));
      const last = lastUser[atBefore];
      if (this.keyOf(last) < key) {
        lastUser[(w << copyBits) + slot] = x;
        continue;
      }
      lastUser[(w << copyBits) + slot] = last;
      const shortened = this.lastUseWithin(w, this.keyOf(before), key, before);
      lastUser[atBefore] = shortened;
      // Until x the value need not be held; at x itself it was counted as passing by and as an output.
      this.addAfter(shortened, x, -bytes[w]);
    }
    for (let i = inputStart[v]; i < inputStart[v + 1]; i++) {
      const w = inputValues[i];
      const at = (w << copyBits) + (this.boundAt(w, key) & (maxCopies - 1));
      const last = lastUser[at];
      if (this.keyOf(last) >= key) continue;
      lastUser[at] = x;
      this.addAfter(last, x, bytes[w]);
    }
  }

  private take(x: number): void {
    const { lastUser, bytes, inputStart, inputValues, outputStart, outputValues, copies } = this;
    const v = x >> copyBits;
    const slot = x & (maxCopies - 1);
    const key = this.keyOf(x);
    for (let i = inputStart[v]; i < inputStart[v + 1]; i++) {
      const w = inputValues[i];
      const bound = this.boundAt(w, key);
      const at = (w << copyBits) + (bound & (maxCopies - 1));
      if (lastUser[at] !== x) continue;
      const last = this.lastUseWithin(w, this.keyOf(bound), key, bound);
      lastUser[at] = last;
      this.addAfter(last, x, -bytes[w]);
    }
    const base = v << copyBits;
    let j = base;
    while (copies[j] !== x) j++;
    const before = j > base ? copies[j - 1] : -1;
    for (let i = outputStart[v]; i < outputStart[v + 1]; i++) {
      const w = outputValues[i];
      const last = lastUser[(w << copyBits) + slot];
      if (last === x) continue;
      if (before < 0) {
        this.addAfter(x, last, -bytes[w]);
        continue;
      }
      const atBefore = (w << copyBits) + (before & (maxCopies - 1));
      const lastOfBefore = lastUser[atBefore];
      lastUser[atBefore] = last;
      this.addAfter(lastOfBefore, x, bytes[w]);
    }
    const count = --this.copyCount[v];
    for (; j < base + count; j++) copies[j] = copies[j + 1];
    if (count === 1) {
      const place = this.placeInRepeated[v];
      const moved = this.repeated[--this.repeatedCount];
      this.repeated[place] = moved;
      this.placeInRepeated[moved] = place;
    }
    this.usedSlots[v] &= ~(1 << slot);
    this.cost -= this.nodeCost[v];
    this.length--;
    this.displace(x);
  }

  /** Adds to the memory of every instance after `from` up to and including `to`. */
  private addAfter(from: number, to: number, delta: number): void {
    if (from === to || delta === 0) return;
    const { capacity, blockKey, blockAdd, blockMax, blockAtRank, budgetBytes, blockSize } = this;
    const fromBlock = this.blockOf[from];
    const toBlock = this.blockOf[to];
    const fromIndex = this.indexOf[from] + 1;
    const toIndex = this.indexOf[to] + 1;
    if (fromBlock === toBlock) {
      this.addWithin(fromBlock, fromIndex, toIndex, delta);
      return;
    }
    this.addWithin(fromBlock, fromIndex, blockSize[fromBlock], delta);
    const lastRank = blockKey[toBlock] / capacity;
    let { overflow } = this;
    for (let r = blockKey[fromBlock] / capacity + 1; r < lastRank; r++) {
      const b = blockAtRank[r];
      const old = blockAdd[b] + blockMax[b] - budgetBytes;
      blockAdd[b] += delta;
      const now = old + delta;
      overflow += (now > 0 ? now : 0) - (old > 0 ? old : 0);
    }
    this.overflow = overflow;
    this.addWithin(toBlock, 0, toIndex, delta);
  }

  private addWithin(b: number, from: number, to: number, delta: number): void {
    if (from >= to) return;
    const { blockMemory } = this;
    const base = b * this.capacity;
    this.overflow -= this.excess(b);
    for (let j = base + from; j < base + to; j++) blockMemory[j] += delta;
    this.overflow += this.measure(b);
  }

  private excess(b: number): number {
    const over = this.blockAdd[b] + this.blockMax[b] - this.budgetBytes;
    return over > 0 ? over : 0;
  }

  /** Finds the largest memory of block `b` anew; its excess over the budget. */
  private measure(b: number): number {
    const { blockMemory } = this;
    const base = b * this.capacity;
    let max = Number.NEGATIVE_INFINITY;
    for (let j = base + this.blockSize[b] - 1; j >= base; j--) if (blockMemory[j] > max) max = blockMemory[j];
    this.blockMax[b] = max;
    return this.excess(b);
  }

  /** Puts `x` at the place of `successor`, which moves on, with `memory` bytes alive. */
  private place(x: number, successor: number, memory: number): void {
    const { capacity } = this;
    let b = this.blockOf[successor];
    if (this.blockSize[b] === capacity) {
      this.split(b);
      b = this.blockOf[successor];
    }
    const { blockInstances, blockMemory, indexOf } = this;
    const base = b * capacity;
    const at = indexOf[successor];
    this.overflow -= this.excess(b);
    for (let j = this.blockSize[b]++; j > at; j--) {
      const moved = blockInstances[base + j - 1];
      blockInstances[base + j] = moved;
      blockMemory[base + j] = blockMemory[base + j - 1];
      indexOf[moved] = j;
    }
    blockInstances[base + at] = x;
    blockMemory[base + at] = memory - this.blockAdd[b];
    indexOf[x] = at;
    this.blockOf[x] = b;
    this.overflow += this.measure(b);
  }

  private displace(x: number): void {
    const { blockInstances, blockMemory, indexOf, capacity } = this;
    const b = this.blockOf[x];
    const base = b * capacity;
    this.overflow -= this.excess(b);
    const size = --this.blockSize[b];
    for (let j = indexOf[x]; j < size; j++) {
      const moved = blockInstances[base + j + 1];
      blockInstances[base + j] = moved;
      blockMemory[base + j] = blockMemory[base + j + 1];
      indexOf[moved] = j;
    }
    this.overflow += this.measure(b);
  }

  private split(b: number): void {
    if (this.blockCount === this.blockSize.length) this.growBlocks();
    const { capacity, blockInstances, blockMemory, blockAtRank, blockKey } = this;
    const c = this.blockCount++;
    const half = capacity >> 1;
    this.overflow -= this.excess(b);
    for (let j = 0; j < half; j++) {
      const moved = blockInstances[b * capacity + half + j];
      blockInstances[c * capacity + j] = moved;
      blockMemory[c * capacity + j] = blockMemory[b * capacity + half + j];
      this.blockOf[moved] = c;
      this.indexOf[moved] = j;
    }
    this.blockSize[b] = half;
    this.blockSize[c] = half;
    this.blockAdd[c] = this.blockAdd[b];
    this.overflow += this.measure(b) + this.measure(c);
    const rank = blockKey[b] / capacity + 1;
    blockAtRank.copyWithin(rank + 1, rank, this.blockCount - 1);
    blockAtRank[rank] = c;
    for (let r = rank; r < this.blockCount; r++) blockKey[blockAtRank[r]] = r * capacity;
  }

  private growBlocks(): void {
    const count = this.blockSize.length * 2;
    const grown = <T extends Int32Array | Float64Array>(array: T, length: number): T => {
      const larger = new (array.constructor as new (length: number) => T)(length);
      larger.set(array);
      return larger;
    };
    this.blockInstances = grown(this.blockInstances, count * this.capacity);
    this.blockMemory = grown(this.blockMemory, count * this.capacity);
    this.blockSize = grown(this.blockSize, count);
    this.blockAdd = grown(this.blockAdd, count);
    this.blockMax = grown(this.blockMax, count);
    this.blockKey = grown(this.blockKey, count);
    this.blockAtRank = grown(this.blockAtRank, count);
  }
}

function resultsOf(graph: PlanningGraph): number[] {
  const results: number[] = [];
  for (let w = 0; w < graph.valueCount; w++) if (graph.result[w] === 1) results.push(w);
  return results;
}

function withRow(rows: { start: Int32Array; values: Int32Array }, last: readonly number[]) {
  const start = new Int32Array(rows.start.length + 1);
  start.set(rows.start);
  start[rows.start.length] = rows.values.length + last.length;
  const values = new Int32Array(rows.values.length + last.length);
  values.set(rows.values);
  values.set(last, rows.values.length);
  return { start, values };
}
