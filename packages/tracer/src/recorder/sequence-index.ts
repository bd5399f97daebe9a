/** The constructor at the time when this module is loaded. Fake mode replaces the global one by a slower one. */
const Ints = Int32Array;

/**
 * Maps increasing numbers (sequence numbers, ids) to trace indices. Uses an array from the first number on, and a map
 * for smaller numbers.
 *
 * @internal
 */
export class SequenceIndex {
  private first = -1;
  /** Indices plus one, so that zeros in a new array mean no entry. */
  private values = new Ints(1024);
  private readonly older = new Map<number, number>();

  get(sequence: number): number {
    const at = sequence - this.first;
    if (at >= 0 && this.first >= 0) return at < this.values.length ? this.values[at] - 1 : -1;
    return this.older.get(sequence) ?? -1;
  }

  set(sequence: number, index: number): void {
    if (this.first < 0) this.first = sequence;
    const at = sequence - this.first;
    if (at < 0) {
      this.older.set(sequence, index);
      return;
    }
    if (at >= this.values.length) {
      const grown = new Ints(Math.max(at + 1, this.values.length * 2));
      grown.set(this.values);
      this.values = grown;
    }
    this.values[at] = index + 1;
  }
}
