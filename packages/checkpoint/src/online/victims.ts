import type { StoredBuffer } from "../executor/stored-data.js";

/** Of all that could be evicted, the part that is kept from one look at everything to the next. */
const keptShare = 1 / 16;
/** And at least of all that is looked at, most of which may be evicted: else every look is for few. */
const keptShareOfAll = 1 / 64;

/**
 * Tells what to evict next, by a score of which the least goes first. To look at every buffer for each would take the square of their number, so that the best sixteenth is
 * kept: of these the next is taken whose score, as it is by then, is still within it. A look at everything follows when none is left, or as many ops have run.
 *
 * @internal
 */
export class Victims {
  /** The best last. */
  private kept: StoredBuffer[] = [];
  private worstKept = 0;
  private staleFrom = 0;

  /** @param clock counts ops */
  next(
    from: { readonly allBuffers: Iterable<StoredBuffer> },
    clock: number,
    scoreOf: (buffer: StoredBuffer) => number,
  ): StoredBuffer | undefined {
    if (clock < this.staleFrom)
      for (let victim = this.kept.pop(); victim !== undefined; victim = this.kept.pop())
        if (scoreOf(victim) <= this.worstKept) return victim;
    this.lookAtAll(from.allBuffers, clock, scoreOf);
    return this.kept.pop();
  }

  clear(): void {
    this.kept = [];
    this.staleFrom = 0;
  }

  private lookAtAll(all: Iterable<StoredBuffer>, clock: number, scoreOf: (buffer: StoredBuffer) => number): void {
    const scored: { readonly buffer: StoredBuffer; readonly score: number }[] = [];
    let lookedAt = 0;
    for (const buffer of all) {
      lookedAt++;
      const score = scoreOf(buffer);
      if (score < Number.POSITIVE_INFINITY) scored.push({ buffer, score });
    }
    scored.sort((a, b) => a.score - b.score);
    const count = Math.max(1, Math.floor(scored.length * keptShare), Math.floor(lookedAt * keptShareOfAll));
    this.worstKept = scored[Math.min(count, scored.length) - 1]?.score ?? 0;
    this.kept = scored
      .slice(0, count)
      .map(({ buffer }) => buffer)
      .reverse();
    this.staleFrom = clock + count;
  }
}
