import type { StoredBuffer, StoredData } from "./stored-data.js";

/**
 * Finds the data that cannot be recomputed once `freed` is gone. This is the first data on each path of readers that is
 * in memory, or that a tensor uses.
 *
 * Returns undefined if evicted data would be lost, unless `isOver` reports that it is not read again.
 *
 * @internal
 */
export function borderOf(
  freed: StoredBuffer,
  isOver: (buffer: StoredBuffer) => boolean,
): ReadonlySet<StoredData> | undefined {
  const border = new Set<StoredData>();
  const way = [freed];
  const seen = new Set(way);
  for (let buffer = way.pop(); buffer !== undefined; buffer = way.pop())
    for (const data of readFrom(buffer)) {
      const { buffer: next } = data;
      if (!next.isEvicted || next.hostCopy !== undefined) border.add(data);
      else if (!isOver(next)) return undefined;
      else if (next.isUsed) border.add(data);
      else if (!seen.has(next)) {
        seen.add(next);
        way.push(next);
      }
    }
  return border;
}

/** Data that kernels made from a buffer in other buffers. */
function* readFrom(buffer: StoredBuffer): Iterable<StoredData> {
  for (const { readers } of buffer.data)
    for (const { outputs } of readers)
      for (const data of outputs) if (data !== undefined && data.buffer !== buffer) yield data;
}
