/**
 * Groups of ops in columns. The first op of a group is its head. PyTorch uses a dictionary of sets for them. Groups and
 * their ops are in ascending order, and a head is in its own group.
 */
export class OpGroups implements Iterable<readonly [head: number, ops: Int32Array]> {
  readonly heads: Int32Array;
  private readonly start: Int32Array;
  private readonly ops: Int32Array;

  /**
   * @param ops the ops of all groups
   * @param heads the head of each op's group; it need not be among `ops`
   * @param opCount upper bound of all ops
   */
  constructor(ops: Int32Array, heads: Int32Array, opCount: number) {
    if (ops.length === 0) {
      this.heads = new Int32Array(0);
      this.start = new Int32Array(1);
      this.ops = new Int32Array(0);
      return;
    }
    const size = new Int32Array(opCount);
    let count = 0;
    let total = 0;
    for (let i = 0; i < ops.length; i++) {
      const head = heads[i];
      if (size[head] === 0) {
        size[head] = 1;
        count++;
        total++;
      }
      if (ops[i] !== head) {
        size[head]++;
        total++;
      }
    }
    this.heads = new Int32Array(count);
    this.start = new Int32Array(count + 1);
    this.ops = new Int32Array(total);
    /** For each head, the position of the next op in its group. */
    const next = size;
    for (let head = 0, group = 0; head < opCount; head++) {
      if (size[head] === 0) continue;
      this.heads[group] = head;
      this.start[group + 1] = this.start[group] + size[head];
      this.ops[this.start[group]] = head;
      next[head] = this.start[group++] + 1;
    }
    for (let i = 0; i < ops.length; i++) if (ops[i] !== heads[i]) this.ops[next[heads[i]]++] = ops[i];
    for (let i = 0; i < count; i++) this.ops.subarray(this.start[i], this.start[i + 1]).sort();
  }

  get size(): number {
    return this.heads.length;
  }

  /** Returns the ops of the group with this head, ascending. Undefined if there is no such group. */
  get(head: number): Int32Array | undefined {
    let low = 0;
    let high = this.heads.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.heads[middle] < head) low = middle + 1;
      else high = middle;
    }
    return this.heads[low] === head ? this.ops.subarray(this.start[low], this.start[low + 1]) : undefined;
  }

  *[Symbol.iterator](): Iterator<readonly [head: number, ops: Int32Array]> {
    for (let i = 0; i < this.heads.length; i++)
      yield [this.heads[i], this.ops.subarray(this.start[i], this.start[i + 1])];
  }
}
