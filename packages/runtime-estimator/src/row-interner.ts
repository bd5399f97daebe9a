/**
 * Assigns ids to rows of integers: equal rows get the same id, and ids count from 0. Uses open addressing over one flat
 * array, so that a million rows create neither strings nor objects.
 *
 * @internal
 */
export class RowInterner {
  private slots = new Int32Array(1024).fill(-1);
  private starts = new Int32Array(513);
  private hashes = new Int32Array(512);
  private values = new Int32Array(4096);
  private rows = 0;

  get size(): number {
    return this.rows;
  }

  /** Returns the id of the first `length` entries of `row`. */
  intern(row: Int32Array, length: number): number {
    let hash = length;
    for (let i = 0; i < length; i++) hash = Math.imul(hash ^ row[i], 0x01000193) ^ (hash >>> 15);
    hash = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b);
    hash ^= hash >>> 16;
    const mask = this.slots.length - 1;
    let slot = hash & mask;
    for (; this.slots[slot] >= 0; slot = (slot + 1) & mask) {
      const id = this.slots[slot];
      if (this.hashes[id] === hash && this.equals(id, row, length)) return id;
    }
    this.slots[slot] = this.rows;
    this.append(row, length, hash);
    if (this.rows * 2 > this.slots.length) this.rehash();
    return this.rows - 1;
  }

  private equals(id: number, row: Int32Array, length: number): boolean {
    const start = this.starts[id];
    if (this.starts[id + 1] - start !== length) return false;
    for (let i = 0; i < length; i++) if (this.values[start + i] !== row[i]) return false;
    return true;
  }

  private append(row: Int32Array, length: number, hash: number): void {
    const start = this.starts[this.rows];
    if (this.rows === this.hashes.length) {
      this.hashes = grow(this.hashes, this.rows * 2);
      this.starts = grow(this.starts, this.rows * 2 + 1);
    }
    if (start + length > this.values.length) this.values = grow(this.values, (start + length) * 2);
    for (let i = 0; i < length; i++) this.values[start + i] = row[i];
    this.hashes[this.rows] = hash;
    this.rows++;
    this.starts[this.rows] = start + length;
  }

  private rehash(): void {
    this.slots = new Int32Array(this.slots.length * 2).fill(-1);
    const mask = this.slots.length - 1;
    for (let id = 0; id < this.rows; id++) {
      let slot = this.hashes[id] & mask;
      while (this.slots[slot] >= 0) slot = (slot + 1) & mask;
      this.slots[slot] = id;
    }
  }
}

function grow(array: Int32Array, length: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(length);
  larger.set(array);
  return larger;
}
