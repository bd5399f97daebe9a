/**
 * Returns the buffers of all columns in a value, without duplicates, to transfer them in a message instead of copying.
 * @internal
 */
export function buffersOf(value: unknown, found: Set<ArrayBuffer> = new Set()): ArrayBuffer[] {
  if (ArrayBuffer.isView(value)) {
    if (value.buffer instanceof ArrayBuffer) found.add(value.buffer);
  } else if (typeof value === "object" && value !== null && !Array.isArray(value))
    for (const each of Object.values(value)) buffersOf(each, found);
  return [...found];
}
