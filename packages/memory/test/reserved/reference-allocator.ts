import type { AllocatorSettings } from "../../src/reserved/index.js";

const MiB = 2 ** 20;

interface Segment {
  readonly stream: number;
  readonly isSmall: boolean;
  /** Backed bytes: all, or for an expandable segment, the part that it has grown to. */
  bytes: number;
  /** Allocations from it: their position, and how much of the segment each takes. */
  readonly taken: Map<number, number>;
}

/** The location of an allocation in the reference implementation. */
export interface Taken {
  readonly segment: number;
  readonly offset: number;
  readonly bytes: number;
}

/**
 * The published rules of c10's caching allocator, reimplemented without lists of blocks. Free space is the space
 * between allocations, found by searching all of it each time.
 */
export class ReferenceAllocator {
  readonly segments: Segment[] = [];
  private readonly settings: AllocatorSettings;

  constructor(settings: AllocatorSettings) {
    this.settings = settings;
  }

  get reserved(): number {
    return this.segments.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  get allocated(): number {
    return this.segments.reduce((sum, { taken }) => sum + [...taken.values()].reduce((a, b) => a + b, 0), 0);
  }

  take(asked: number, stream: number): Taken {
    const size = this.rounded(asked);
    const isSmall = size <= MiB;
    const fits = this.holes(stream, isSmall)
      .filter(({ bytes }) => bytes >= size)
      .sort((a, b) => a.bytes - b.bytes || a.segment - b.segment || a.offset - b.offset);
    let [hole] = fits;
    const limit = this.settings.maxSplitBytes;
    if (this.settings.expandableSegments) {
      for (let next = 1; next < fits.length && this.growable(fits[next]) < this.growable(hole); next++)
        hole = fits[next];
    }
    const isRefused =
      hole === undefined ||
      (size < limit && hole.bytes >= limit) ||
      (size >= limit && hole.bytes >= size + this.settings.largeSegmentBytes);
    if (isRefused) hole = this.grow(size, stream, isSmall);
    const rest = hole.bytes - size;
    const splits = isSmall || this.settings.expandableSegments ? rest >= 512 : size < limit && rest > MiB;
    const bytes = splits ? size : hole.bytes;
    this.segments[hole.segment].taken.set(hole.offset, bytes);
    return { segment: hole.segment, offset: hole.offset, bytes };
  }

  give({ segment, offset }: Taken): void {
    this.segments[segment].taken.delete(offset);
  }

  private rounded(asked: number): number {
    const units = Math.max(1, Math.ceil(asked / 512)) * 512;
    const octave = Math.max(0, Math.min(15, Math.floor(Math.log2(asked)) - 20));
    const steps = this.settings.roundupPower2Divisions[octave];
    if (asked < 512 || steps <= 1 || asked <= 512 * steps) return units;
    let power = 1;
    while (power * 2 <= asked) power *= 2;
    let step = power;
    while (step < asked) step += power / steps;
    return step;
  }

  private holes(stream: number, isSmall: boolean): Taken[] {
    const found: Taken[] = [];
    this.segments.forEach((segment, index) => {
      if (segment.stream !== stream || segment.isSmall !== isSmall) return;
      let offset = 0;
      for (const [start, bytes] of [...segment.taken].sort(([a], [b]) => a - b)) {
        if (start > offset) found.push({ segment: index, offset, bytes: start - offset });
        offset = start + bytes;
      }
      if (segment.bytes > offset) found.push({ segment: index, offset, bytes: segment.bytes - offset });
    });
    return found;
  }

  /** One at the end of an expandable segment is as large as no device. */
  private growable({ segment, offset, bytes }: Taken): number {
    return offset + bytes === this.segments[segment].bytes ? Number.POSITIVE_INFINITY : bytes;
  }

  private grow(size: number, stream: number, isSmall: boolean): Taken {
    const { expandableSegments, largeSegmentBytes } = this.settings;
    const page = isSmall ? 2 * MiB : largeSegmentBytes;
    if (!expandableSegments) {
      const bytes = isSmall || size < 10 * MiB ? page : Math.ceil(size / (2 * MiB)) * 2 * MiB;
      return { segment: this.segments.push({ stream, isSmall, bytes, taken: new Map() }) - 1, offset: 0, bytes };
    }
    let index = this.segments.findIndex((one) => one.stream === stream && one.isSmall === isSmall);
    if (index < 0) index = this.segments.push({ stream, isSmall, bytes: 0, taken: new Map() }) - 1;
    const segment = this.segments[index];
    const ends = [...segment.taken].map(([offset, bytes]) => offset + bytes);
    const offset = Math.max(0, ...ends);
    segment.bytes += Math.ceil((size - (segment.bytes - offset)) / page) * page;
    return { segment: index, offset, bytes: segment.bytes - offset };
  }
}
