import type { StoredBuffer } from "../executor/stored-data.js";

/** Share of the evictable buffers that is kept as candidates from one scan to the next. */
const keptShare = 1 / 16;
/**
 * Minimum share of all scanned buffers. Most of them may be evicted already, and a scan would then yield few
 * candidates.
 */
const keptShareOfAll = 1 / 64;

/**
 * Chooses the next buffer to evict, lowest score first. Scanning all buffers for each eviction would be quadratic.
 * Therefore a scan keeps the best sixteenth as candidates. The next candidate whose current score is still in their
 * range is evicted. A new scan follows when no candidate is left, or after as many ops as there were candidates.
 *
 * @internal
 */
export class Victims {
  /** Best last. */
  private kept: StoredBuffer[] = [];
  private worstKept = 0;
  private staleFrom = 0;

  /** @param clock number of ops so far */
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
