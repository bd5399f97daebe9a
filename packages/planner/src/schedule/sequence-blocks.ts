const initialBlocks = 16;

/**
 * A sequence of instances with the memory at each. Inserting, removing, and adding memory to a whole stretch each take
 * time in proportion to the square root of the length.
 *
 * An instance is at an index of a block, and a block has a rank. The memory at an instance is the number stored at its
 * index plus the number stored for the rank. A change over many blocks therefore updates only two numbers per block.
 * For each block, the largest memory is stored as its distance from the budget. Overflow is the sum of these distances
 * over all blocks above the budget. @internal
 */
export class SequenceBlocks {
  budgetBytes = 0;
  overflow = 0;
  length = 0;
  private readonly blockOf: Int32Array;
  private readonly indexOf: Int32Array;
  private readonly capacityBits: number;
  private readonly capacity: number;
  blockCount = 0;
  private freeBlocks: number[] = [];
  // Indexed by block.
  private instances: Int32Array;
  private memory: Float64Array;
  private size: Int32Array;
  /** Rank times capacity. Together with the index it is the key of an instance. */
  private keyBase: Int32Array;
  // Indexed by block rank.
  private blockAt: Int32Array;
  private add: Float64Array;
  private top: Float64Array;

  constructor(instanceCount: number, usualLength: number) {
    this.blockOf = new Int32Array(instanceCount);
    this.indexOf = new Int32Array(instanceCount);
    // Close to the square root of the length.
    this.capacityBits = usualLength < 512 ? 4 : usualLength < 4096 ? 5 : 7;
    this.capacity = 1 << this.capacityBits;
    this.instances = new Int32Array(initialBlocks * this.capacity);
    this.memory = new Float64Array(initialBlocks * this.capacity);
    this.size = new Int32Array(initialBlocks);
    this.keyBase = new Int32Array(initialBlocks);
    this.blockAt = new Int32Array(initialBlocks);
    this.add = new Float64Array(initialBlocks);
    this.top = new Float64Array(initialBlocks);
  }

  /** Restarts from `instances` with `memory` bytes in use at each. */
  fill(instances: Int32Array, memory: Float64Array, budgetBytes: number): void {
    const { capacity } = this;
    const perBlock = capacity >> 1;
    this.budgetBytes = budgetBytes;
    this.length = instances.length;
    this.overflow = 0;
    this.freeBlocks = [];
    const blocks = Math.ceil(instances.length / perBlock);
    while (this.size.length < blocks) this.grow();
    this.blockCount = blocks;
    for (let b = 0; b < blocks; b++) {
      const from = b * perBlock;
      this.size[b] = Math.min(perBlock, instances.length - from);
      this.blockAt[b] = b;
      this.keyBase[b] = b * capacity;
      this.add[b] = 0;
      this.top[b] = Number.NEGATIVE_INFINITY;
      for (let j = 0; j < this.size[b]; j++) {
        const x = instances[from + j];
        this.instances[b * capacity + j] = x;
        this.memory[b * capacity + j] = memory[from + j];
        this.blockOf[x] = b;
        this.indexOf[x] = j;
      }
      this.measure(b);
    }
  }

  /** Changes the budget. The sequence stays as it is. */
  aimFor(budgetBytes: number): void {
    const { top, blockCount } = this;
    const raised = this.budgetBytes - budgetBytes;
    this.budgetBytes = budgetBytes;
    this.overflow = 0;
    for (let r = 0; r < blockCount; r++) {
      top[r] += raised;
      if (top[r] > 0) this.overflow += top[r];
    }
  }

  /** Returns a number for comparing positions of instances. It changes with the sequence. */
  keyOf(x: number): number {
    return this.keyBase[this.blockOf[x]] + this.indexOf[x];
  }

  memoryAt(x: number): number {
    const b = this.blockOf[x];
    return this.add[this.rankOf(b)] + this.memory[b * this.capacity + this.indexOf[x]];
  }

  get peakBytes(): number {
    let peak = Number.NEGATIVE_INFINITY;
    for (let r = 0; r < this.blockCount; r++) if (this.top[r] > peak) peak = this.top[r];
    return peak + this.budgetBytes;
  }

  /** Returns the next instance, or -1. After -1 comes the first instance. */
  next(x: number): number {
    let r = -1;
    if (x >= 0) {
      const b = this.blockOf[x];
      const j = this.indexOf[x] + 1;
      if (j < this.size[b]) return this.instances[b * this.capacity + j];
      r = this.rankOf(b);
    }
    for (r++; r < this.blockCount; r++) {
      const c = this.blockAt[r];
      if (this.size[c] > 0) return this.instances[c * this.capacity];
    }
    return -1;
  }

  /** Returns the previous instance, or -1. */
  previous(x: number): number {
    const b = this.blockOf[x];
    const j = this.indexOf[x] - 1;
    if (j >= 0) return this.instances[b * this.capacity + j];
    for (let r = this.rankOf(b) - 1; r >= 0; r--) {
      const c = this.blockAt[r];
      if (this.size[c] > 0) return this.instances[c * this.capacity + this.size[c] - 1];
    }
    return -1;
  }

  /**
   * Returns an instance chosen by a number in [0, 1). The choice is uniform over blocks, and then uniform within the
   * block.
   */
  pick(uniform: number): number {
    const scaled = uniform * this.blockCount;
    for (let r = scaled | 0, tries = 0; tries < this.blockCount; tries++, r = r + 1 === this.blockCount ? 0 : r + 1) {
      const b = this.blockAt[r];
      const size = this.size[b];
      if (size > 0) return this.instances[b * this.capacity + (((scaled % 1) * size) | 0)];
    }
    return -1;
  }

  /**
   * Returns the instance with the largest memory in the first block over the budget, or -1 if none is over. The search
   * starts at a block chosen by a number in [0, 1).
   */
  pickOverBudget(uniform: number): number {
    const { blockCount, top, memory, capacity } = this;
    let r = (uniform * blockCount) | 0;
    for (let tries = 0; tries < blockCount; tries++, r = r + 1 === blockCount ? 0 : r + 1) {
      if (!(top[r] > 0)) continue;
      const b = this.blockAt[r];
      // A change that helps the worst instance of a block usually helps its neighbours.
      let most = b * capacity;
      for (let j = most + 1; j < b * capacity + this.size[b]; j++) if (memory[j] > memory[most]) most = j;
      return this.instances[most];
    }
    return -1;
  }

  /** Adds to the memory of every instance after `from`, up to and including `to`. */
  addAfter(from: number, to: number, delta: number): void {
    if (from === to || delta === 0) return;
    const fromBlock = this.blockOf[from];
    const toBlock = this.blockOf[to];
    if (fromBlock === toBlock) {
      this.addWithin(fromBlock, this.indexOf[from] + 1, this.indexOf[to] + 1, delta);
      return;
    }
    this.addWithin(fromBlock, this.indexOf[from] + 1, this.size[fromBlock], delta);
    const { add, top } = this;
    const lastRank = this.rankOf(toBlock);
    let { overflow } = this;
    for (let r = this.rankOf(fromBlock) + 1; r < lastRank; r++) {
      const old = top[r];
      const now = old + delta;
      top[r] = now;
      add[r] += delta;
      if (now > 0) overflow += now;
      if (old > 0) overflow -= old;
    }
    this.overflow = overflow;
    this.addWithin(toBlock, 0, this.indexOf[to] + 1, delta);
  }

  /** Inserts `x` right before `successor`, with `bytes` in use. */
  insert(x: number, successor: number, bytes: number): void {
    const { capacity } = this;
    let b = this.blockOf[successor];
    if (this.size[b] === capacity) {
      this.split(b);
      b = this.blockOf[successor];
    }
    const { instances, memory, indexOf } = this;
    const base = b * capacity;
    const at = indexOf[successor];
    for (let j = this.size[b]++; j > at; j--) {
      const moved = instances[base + j - 1];
      instances[base + j] = moved;
      memory[base + j] = memory[base + j - 1];
      indexOf[moved] = j;
    }
    const r = this.rankOf(b);
    instances[base + at] = x;
    memory[base + at] = bytes - this.add[r];
    indexOf[x] = at;
    this.blockOf[x] = b;
    this.length++;
    this.raise(r, bytes - this.budgetBytes);
  }

  remove(x: number): void {
    const { instances, memory, indexOf, capacity } = this;
    const b = this.blockOf[x];
    const base = b * capacity;
    const size = --this.size[b];
    for (let j = indexOf[x]; j < size; j++) {
      const moved = instances[base + j + 1];
      instances[base + j] = moved;
      memory[base + j] = memory[base + j + 1];
      indexOf[moved] = j;
    }
    this.length--;
    if (size > capacity >> 2 || !this.join(b)) this.measure(b);
  }

  private rankOf(b: number): number {
    return this.keyBase[b] >> this.capacityBits;
  }

  private addWithin(b: number, from: number, to: number, delta: number): void {
    if (from >= to) return;
    const { memory } = this;
    const base = b * this.capacity;
    if (delta < 0) {
      for (let j = base + from; j < base + to; j++) memory[j] += delta;
      this.measure(b);
      return;
    }
    let most = Number.NEGATIVE_INFINITY;
    for (let j = base + from; j < base + to; j++) {
      memory[j] += delta;
      if (memory[j] > most) most = memory[j];
    }
    const r = this.rankOf(b);
    this.raise(r, this.add[r] + most - this.budgetBytes);
  }

  /** Raises the largest memory at rank r to at least `least` over the budget. */
  private raise(r: number, least: number): void {
    const old = this.top[r];
    if (least <= old) return;
    this.top[r] = least;
    if (least > 0) this.overflow += old > 0 ? least - old : least;
  }

  /** Updates the largest memory of block `b`. */
  private measure(b: number): void {
    const { memory } = this;
    const base = b * this.capacity;
    const r = this.rankOf(b);
    let most = Number.NEGATIVE_INFINITY;
    for (let j = base + this.size[b] - 1; j >= base; j--) if (memory[j] > most) most = memory[j];
    const now = this.add[r] + most - this.budgetBytes;
    const old = this.top[r];
    this.top[r] = now;
    this.overflow += (now > 0 ? now : 0) - (old > 0 ? old : 0);
  }

  private split(b: number): void {
    if (this.blockCount === this.size.length) this.grow();
    const c = this.freeBlocks.pop() ?? this.blockCount;
    const { capacity, blockAt, add, top } = this;
    const half = capacity >> 1;
    const rank = this.rankOf(b) + 1;
    for (const byRank of [blockAt, add, top]) byRank.copyWithin(rank + 1, rank, this.blockCount);
    this.blockCount++;
    blockAt[rank] = c;
    add[rank] = add[rank - 1];
    top[rank] = Number.NEGATIVE_INFINITY;
    this.numberFrom(rank);
    this.size[c] = 0;
    this.transfer(b, half, c, 0, half, 0);
    this.size[b] = half;
    this.size[c] = half;
    this.measure(b);
    this.measure(c);
  }

  /** Moves the instances of block `b`, if there are few, into a neighbour with enough space. */
  private join(b: number): boolean {
    const { capacity, size, blockAt, add, top } = this;
    const most = capacity - (capacity >> 2);
    const rank = this.rankOf(b);
    const hasRoom = (r: number) => r >= 0 && r < this.blockCount && size[blockAt[r]] + size[b] <= most;
    const isAhead = hasRoom(rank + 1);
    if (!isAhead && !hasRoom(rank - 1)) return false;
    const other = isAhead ? rank + 1 : rank - 1;
    const c = blockAt[other];
    if (isAhead) this.transfer(c, 0, c, size[b], size[c], 0);
    this.transfer(b, 0, c, isAhead ? 0 : size[c], size[b], add[rank] - add[other]);
    size[c] += size[b];
    size[b] = 0;
    if (top[rank] > 0) this.overflow -= top[rank];
    for (const byRank of [blockAt, add, top]) byRank.copyWithin(rank, rank + 1, this.blockCount);
    this.blockCount--;
    this.numberFrom(rank);
    this.freeBlocks.push(b);
    this.measure(c);
    return true;
  }

  /** Moves `count` instances from an index of block `b` to one of block `c`, the last first. */
  private transfer(b: number, from: number, c: number, to: number, count: number, shift: number): void {
    const source = b * this.capacity + from;
    const target = c * this.capacity + to;
    for (let j = count - 1; j >= 0; j--) {
      const moved = this.instances[source + j];
      this.instances[target + j] = moved;
      this.memory[target + j] = this.memory[source + j] + shift;
      this.blockOf[moved] = c;
      this.indexOf[moved] = to + j;
    }
  }

  private numberFrom(rank: number): void {
    for (let r = rank; r < this.blockCount; r++) this.keyBase[this.blockAt[r]] = r * this.capacity;
  }

  private grow(): void {
    const count = this.size.length * 2;
    const grown = <T extends Int32Array | Float64Array>(array: T, length: number): T => {
      const larger = new (array.constructor as new (length: number) => T)(length);
      larger.set(array);
      return larger;
    };
    this.instances = grown(this.instances, count * this.capacity);
    this.memory = grown(this.memory, count * this.capacity);
    this.size = grown(this.size, count);
    this.keyBase = grown(this.keyBase, count);
    this.blockAt = grown(this.blockAt, count);
    this.add = grown(this.add, count);
    this.top = grown(this.top, count);
  }
}
