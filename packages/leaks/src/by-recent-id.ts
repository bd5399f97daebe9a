const mostRecent = 4096;

/**
 * A map from increasing ids to values, most of which are soon deleted. A `Map` would not do: V8 links each table that a
 * Map has outgrown to the next one. Once one of them is old, all that follow survive young collections along with their
 * contents, which left 70 MB of garbage before the whole heap was collected.
 */
export class ByRecentId<T> {
  private base = 0;
  /** One above the highest recent id. */
  private top = 0;
  private count = 0;
  private readonly recent = Array.from<T | undefined>({ length: mostRecent }).fill(undefined);
  /** Entries that have been there for long, and entries whose ids were used before. */
  private readonly older = new Map<number, T>();

  set(id: number, value: T): void {
    if (this.count === 0 && id >= this.top) this.base = id;
    if (id < this.base) {
      this.older.set(id, value);
      return;
    }
    if (id - this.base >= mostRecent) this.age(id);
    const at = id - this.base;
    if (this.recent[at] === undefined) this.count++;
    this.recent[at] = value;
    this.top = Math.max(this.top, id + 1);
  }

  get(id: number): T | undefined {
    if (id >= this.base && id < this.top) return this.recent[id - this.base];
    return this.older.size > 0 ? this.older.get(id) : undefined;
  }

  delete(id: number): void {
    if (id < this.base || id >= this.top) {
      if (this.older.size > 0) this.older.delete(id);
      return;
    }
    const at = id - this.base;
    if (this.recent[at] !== undefined) this.count--;
    this.recent[at] = undefined;
  }

  /** Passes each value to `take` and removes it. */
  drain(take: (value: T) => void): void {
    for (const value of this.older.values()) take(value);
    if (this.older.size > 0) this.older.clear();
    const { recent, base, top } = this;
    for (let at = 0; this.count > 0 && at < top - base; at++) {
      const value = recent[at];
      if (value === undefined) continue;
      take(value);
      recent[at] = undefined;
      this.count--;
    }
  }

  private age(id: number): void {
    for (let at = 0; this.count > 0 && at < mostRecent; at++) {
      const value = this.recent[at];
      if (value === undefined) continue;
      this.older.set(this.base + at, value);
      this.recent[at] = undefined;
      this.count--;
    }
    this.base = id;
  }
}
