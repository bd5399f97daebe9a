import { copyBits, slotMask } from "./instances.js";

/** Tracks the instances of each node in a sequence, by position. @internal */
export class NodeCopies {
  /** For each node, the number of its instances. */
  readonly count: Uint8Array;
  /** The instances of node v: `instances[(v << copyBits) + j]`. */
  readonly instances: Int32Array;
  /** Nodes that have several instances, in no order. */
  readonly repeated: Int32Array;
  repeatedCount = 0;
  private readonly placeInRepeated: Int32Array;
  private readonly usedSlots: Int32Array;

  constructor(nodeCount: number) {
    this.count = new Uint8Array(nodeCount);
    this.instances = new Int32Array(nodeCount << copyBits);
    this.repeated = new Int32Array(nodeCount);
    this.placeInRepeated = new Int32Array(nodeCount);
    this.usedSlots = new Int32Array(nodeCount);
  }

  clear(): void {
    this.count.fill(0);
    this.usedSlots.fill(0);
    this.repeatedCount = 0;
  }

  /** Returns an instance of `v` that is not in the sequence. */
  takeSlot(v: number): number {
    const free = ~this.usedSlots[v];
    const slot = 31 - Math.clz32(free & -free);
    this.usedSlots[v] |= 1 << slot;
    return (v << copyBits) + slot;
  }

  /** Takes the slot of `x` again after it was removed. */
  takeSlotOf(x: number): void {
    this.usedSlots[x >> copyBits] |= 1 << (x & slotMask);
  }

  /** Returns whether `x`, which has been in the sequence, still is. */
  contains(x: number): boolean {
    return (this.usedSlots[x >> copyBits] & (1 << (x & slotMask))) !== 0;
  }

  /** Adds `x` as copy number `j` of its node. */
  insertAt(x: number, j: number): void {
    const v = x >> copyBits;
    const base = v << copyBits;
    const count = ++this.count[v];
    for (let k = base + count - 1; k > base + j; k--) this.instances[k] = this.instances[k - 1];
    this.instances[base + j] = x;
    if (count === 2) {
      this.placeInRepeated[v] = this.repeatedCount;
      this.repeated[this.repeatedCount++] = v;
    }
  }

  /** Removes `x`, copy number `j` of its node. */
  removeAt(x: number, j: number): void {
    const v = x >> copyBits;
    const base = v << copyBits;
    const count = --this.count[v];
    for (let k = base + j; k < base + count; k++) this.instances[k] = this.instances[k + 1];
    if (count === 1) {
      const place = this.placeInRepeated[v];
      const moved = this.repeated[--this.repeatedCount];
      this.repeated[place] = moved;
      this.placeInRepeated[moved] = place;
    }
    this.usedSlots[v] &= ~(1 << (x & slotMask));
  }
}
