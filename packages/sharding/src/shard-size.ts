import { elementsOf } from "@remat/trace";

/**
 * Returns the number of rows (dim 0) in a rank's shard. Every rank gets the rounded-up share as long as rows remain, so
 * the last ranks may have fewer rows or none.
 */
export function shardRows(rows: number, worldSize: number, rank: number): number {
  const most = Math.ceil(rows / worldSize);
  return Math.max(0, Math.min(most, rows - rank * most));
}

/** The size of a rank's shard of a tensor. */
export interface ShardSize {
  /** The number of elements that the rank owns. */
  readonly elements: number;
  /** The number of elements of its shard with padding. It is the same on all ranks and equals rank 0's shard. */
  readonly paddedElements: number;
}

/** Returns the size of a rank's shard of a tensor of `shape`, sharded on dim 0. A scalar counts as one row. */
export function shardSize(shape: readonly number[], worldSize: number, rank: number): ShardSize {
  const [rows = 1, ...rest] = shape;
  const perRow = elementsOf(rest);
  return { elements: shardRows(rows, worldSize, rank) * perRow, paddedElements: Math.ceil(rows / worldSize) * perRow };
}
