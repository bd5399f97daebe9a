/**
 * Records insertions into a sequence and removals from it since a mark, so that they can be undone in reverse order.
 * @internal
 */
export class UndoJournal {
  private entries = new Int32Array(256);
  private length = 0;

  clear(): void {
    this.length = 0;
  }

  notePut(x: number): void {
    this.note(x, -1);
  }

  /**
   * Records that `taken` was removed from before `successor`. It is an instance, or `~instance` for one that reloads.
   */
  noteTaken(taken: number, successor: number): void {
    this.note(taken, successor);
  }

  /** Passes on the entries, the latest first, and forgets them. */
  unwind(undoPut: (x: number) => void, undoTaken: (taken: number, successor: number) => void): void {
    while (this.length > 0) {
      const successor = this.entries[--this.length];
      const x = this.entries[--this.length];
      if (successor < 0) undoPut(x);
      else undoTaken(x, successor);
    }
  }

  private note(x: number, successor: number): void {
    if (this.length + 2 > this.entries.length) {
      const larger = new Int32Array(this.entries.length * 2);
      larger.set(this.entries);
      this.entries = larger;
    }
    this.entries[this.length++] = x;
    this.entries[this.length++] = successor;
  }
}
