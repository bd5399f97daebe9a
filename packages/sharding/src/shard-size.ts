import { elementsOf } from "@remat/trace";

/** Returns rows of dim 0 in a shard: the first ranks have as many as it takes to hold all of them, so the last may have fewer or none. */
export function shardRows(rows: number, worldSize: number, rank: number): number {
  const most = Math.ceil(rows / worldSize);
  return Math.max(0, Math.min(most, rows - rank * most));
}

export interface ShardSize {
  /** Elements that the rank owns. */
  readonly elements: number;
  /** Elements of its shard with padding: as many as rank 0's. */
  readonly paddedElements: number;
}

/** Tells how a tensor of `shape` is sharded on dim 0; a scalar counts as one row. */
export function shardSize(shape: readonly number[], worldSize: number, rank: number): ShardSize {
  const [rows = 1, ...rest] = shape;
  const perRow = elementsOf(rest);
  return { elements: shardRows(rows, worldSize, rank) * perRow, paddedElements: Math.ceil(rows / worldSize) * perRow };
}
