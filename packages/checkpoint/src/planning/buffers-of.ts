/** Returns the memory under all columns in a value, each once: for a message that hands it over in place of a copy. @internal */
export function buffersOf(value: unknown, found: Set<ArrayBuffer> = new Set()): ArrayBuffer[] {
  if (ArrayBuffer.isView(value)) {
    if (value.buffer instanceof ArrayBuffer) found.add(value.buffer);
  } else if (typeof value === "object" && value !== null && !Array.isArray(value))
    for (const each of Object.values(value)) buffersOf(each, found);
  return [...found];
}
