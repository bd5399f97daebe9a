import type { StoredBuffer, StoredData } from "./stored-data.js";

/**
 * What can no longer be recomputed once `freed` is free: the first data on each way from it that is there, or that a tensor lives in. Undefined if
 * something that is evicted now would be missed, that is, unless `isOver` says that nobody reads it again.
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

/** What kernels have made from a buffer in others. */
function* readFrom(buffer: StoredBuffer): Iterable<StoredData> {
  for (const { readers } of buffer.data)
    for (const { outputs } of readers)
      for (const data of outputs) if (data !== undefined && data.buffer !== buffer) yield data;
}
