import { type AllocatorSettings, defaultAllocatorSettings } from "./allocator-settings.js";
import { type Block, BlockPool } from "./block.js";

const minBlockBytes = 512;
/** The largest "small" block. */
const smallBytes = 2 ** 20;
const smallSegmentBytes = 2 ** 21;
/** Blocks of at least this size get a segment of their own, rounded up to 2 MiB. */
const minLargeBytes = 10 * 2 ** 20;
const roundLargeBytes = 2 ** 21;
/** Address range of an expandable segment: larger than the memory of any device. */
const addressSpaceBytes = 2 ** 42;
/** Distance between the addresses of two segments. */
const segmentStride = 2 ** 43;

/**
 * Simulates PyTorch's CUDA caching allocator, as long as memory does not run out. It counts allocated and reserved
 * bytes. Source: c10's `CUDACachingAllocator.cpp`.
 *
 * - Sizes are rounded to 512 bytes, or to steps between powers of two.
 * - Blocks up to 1 MiB are cut from segments of 2 MiB, and blocks below 10 MiB from segments of 20 MiB. Larger blocks
 *   have their own segment.
 * - The smallest free block that is large enough is used, and split if the rest is large enough.
 * - Freed neighbours are merged.
 *
 * @example
 * const allocator = new CachingAllocator();
 * const block = allocator.malloc(3e6);
 * allocator.reservedBytes; // 20971520
 * allocator.free(block);
 */
export class CachingAllocator {
  readonly settings: AllocatorSettings;
  /** Bytes of all blocks in use. */
  allocatedBytes = 0;
  /** Bytes of all segments. */
  reservedBytes = 0;
  /** The highest `allocatedBytes` so far. */
  peakAllocatedBytes = 0;
  /** The highest `reservedBytes` so far. */
  peakReservedBytes = 0;
  private readonly pools = new Map<number, readonly [small: BlockPool, large: BlockPool]>();
  private segments = 0;

  constructor(settings: AllocatorSettings = defaultAllocatorSettings) {
    this.settings = settings;
  }

  /** Returns the rounded size of a request of at least one byte. */
  roundSize(bytes: number): number {
    if (bytes < minBlockBytes) return minBlockBytes;
    const place = Math.floor(Math.log2(bytes)) - 20;
    const divisions = this.settings.roundupPower2Divisions;
    const steps = divisions[Math.min(Math.max(place, 0), divisions.length - 1)];
    if (!(steps > 1 && bytes > minBlockBytes * steps)) return roundUp(bytes, minBlockBytes);
    return roundUp(bytes, 2 ** Math.floor(Math.log2(bytes)) / steps);
  }

  /** Allocates at least one byte. */
  malloc(bytes: number, stream = 0): Block {
    const size = this.roundSize(bytes);
    const pool = this.poolOf(stream, size);
    let block = this.takeFree(pool, size) ?? this.takeNew(pool, size);
    if (this.isSplit(block, size)) block = this.split(block, size);
    block.isAllocated = true;
    this.allocatedBytes += block.bytes;
    this.peakAllocatedBytes = Math.max(this.peakAllocatedBytes, this.allocatedBytes);
    return block;
  }

  /** Frees a block and merges it with free neighbours. */
  free(block: Block): void {
    this.allocatedBytes -= block.bytes;
    block.isAllocated = false;
    this.merge(block, block.before);
    this.merge(block, block.after);
    block.pool.free.add(block);
  }

  private poolOf(stream: number, size: number): BlockPool {
    let pools = this.pools.get(stream);
    if (pools === undefined) this.pools.set(stream, (pools = [new BlockPool(true), new BlockPool(false)]));
    return pools[size <= smallBytes ? 0 : 1];
  }

  /** Takes the smallest free block that is large enough, unless it must not be split for a request of this size. */
  private takeFree({ free }: BlockPool, size: number): Block | undefined {
    const { maxSplitBytes } = this.settings;
    let place = free.firstThat(({ bytes }) => bytes >= size);
    if (place === free.items.length) return undefined;
    // A block before unmapped addresses counts with the size that it can grow to.
    if (this.settings.expandableSegments)
      while (
        place + 1 < free.items.length &&
        expandableBytes(free.items[place + 1]) < expandableBytes(free.items[place])
      )
        place++;
    const block = free.items[place];
    if (size < maxSplitBytes && block.bytes >= maxSplitBytes) return undefined;
    if (size >= maxSplitBytes && block.bytes >= size + this.settings.largeSegmentBytes) return undefined;
    free.items.splice(place, 1);
    return block;
  }

  private takeNew(pool: BlockPool, size: number): Block {
    if (this.settings.expandableSegments) return this.expand(pool, size);
    const block = this.newSegment(pool, this.segmentBytes(size), true);
    this.reserve(block.bytes);
    return block;
  }

  private segmentBytes(size: number): number {
    if (size <= smallBytes) return smallSegmentBytes;
    return size < minLargeBytes ? this.settings.largeSegmentBytes : roundUp(size, roundLargeBytes);
  }

  private newSegment(pool: BlockPool, bytes: number, isMapped: boolean): Block {
    const address = segmentStride * this.segments++;
    const isExpandable = !isMapped;
    return { address, bytes, pool, isAllocated: false, isMapped, isExpandable, before: undefined, after: undefined };
  }

  private isSplit({ bytes, pool }: Block, size: number): boolean {
    const rest = bytes - size;
    if (pool.isSmall || this.settings.expandableSegments) return rest >= minBlockBytes;
    return size < this.settings.maxSplitBytes && rest > smallBytes;
  }

  /** Cuts the first `size` bytes from a block. The rest is free. */
  private split(rest: Block, size: number): Block {
    const { address, pool, isMapped, isExpandable, before } = rest;
    const block: Block = {
      address,
      bytes: size,
      pool,
      isAllocated: false,
      isMapped,
      isExpandable,
      before,
      after: rest,
    };
    if (before !== undefined) before.after = block;
    rest.before = block;
    rest.address += size;
    rest.bytes -= size;
    (rest.isMapped ? pool.free : pool.unmapped).add(rest);
    return block;
  }

  /** Merges a block that is in no list with a free neighbour. */
  private merge(block: Block, other: Block | undefined): void {
    if (other === undefined || other.isAllocated || other.isMapped !== block.isMapped) return;
    (other.isMapped ? block.pool.free : block.pool.unmapped).remove(other);
    if (block.before === other) {
      block.address = other.address;
      block.before = other.before;
      if (block.before !== undefined) block.before.after = block;
    } else {
      block.after = other.after;
      if (block.after !== undefined) block.after.before = block;
    }
    block.bytes += other.bytes;
  }

  /**
   * Returns a free block of at least `size` bytes at the end of the mapped memory of an expandable segment, which grows
   * if needed.
   */
  private expand(pool: BlockPool, size: number): Block {
    let block = this.expandable(pool, size);
    if (!block.isMapped) block = this.map(block, Math.min(block.bytes, size));
    while (block.bytes < size) block = this.map(block.after!, Math.min(size - block.bytes, block.after!.bytes));
    pool.free.remove(block);
    return block;
  }

  private expandable(pool: BlockPool, size: number): Block {
    for (const unmapped of pool.unmapped.items) {
      const { before } = unmapped;
      const first = before !== undefined && !before.isAllocated ? before : unmapped;
      let room = 0;
      for (
        let block: Block | undefined = first;
        block !== undefined && room < size && !block.isAllocated;
        block = block.after
      )
        room += block.bytes;
      if (room >= size) return first;
    }
    const segment = this.newSegment(pool, addressSpaceBytes, false);
    pool.unmapped.add(segment);
    return segment;
  }

  /** Maps memory to the beginning of an unmapped block, in whole pages, and merges it with free neighbours. */
  private map(block: Block, bytes: number): Block {
    const { pool } = block;
    const mapped = roundUp(bytes, pool.isSmall ? smallSegmentBytes : this.settings.largeSegmentBytes);
    pool.unmapped.remove(block);
    const given = mapped < block.bytes ? this.split(block, mapped) : block;
    given.isMapped = true;
    this.merge(given, given.before);
    this.merge(given, given.after);
    pool.free.add(given);
    this.reserve(mapped);
    return given;
  }

  private reserve(bytes: number): void {
    this.reservedBytes += bytes;
    this.peakReservedBytes = Math.max(this.peakReservedBytes, this.reservedBytes);
  }
}

function expandableBytes({ bytes, after }: Block): number {
  return bytes + (after !== undefined && !after.isMapped ? after.bytes : 0);
}

function roundUp(bytes: number, unit: number): number {
  return Math.ceil(bytes / unit) * unit;
}
