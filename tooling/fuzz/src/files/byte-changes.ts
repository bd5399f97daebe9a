import fc from "fast-check";

/** A change to bytes at a position, given as a fraction of the whole. */
export interface ByteChange {
  readonly does: "set" | "insert" | "remove" | "repeat" | "truncate";
  readonly place: number;
  readonly length: number;
  readonly value: number;
}

/** Changes to bytes anywhere. */
export const byteChanges: fc.Arbitrary<readonly ByteChange[]> = fc.array(
  fc.record({
    does: fc.constantFrom("set", "insert", "remove", "repeat", "truncate"),
    place: fc.double({ min: 0, max: 1, noNaN: true }),
    length: fc.nat(40),
    value: fc.oneof(fc.constantFrom(...Buffer.from('0"{}[],:-\n\\'), 0, 0xff, 0x1b), fc.nat(255)),
  }),
  { maxLength: 3 },
);

/** Returns changed bytes. */
export function changeBytes(bytes: Uint8Array, changes: readonly ByteChange[]): Uint8Array {
  let changed = Buffer.from(bytes);
  for (const { does, place, length, value } of changes) {
    const at = Math.floor(place * changed.length);
    const [before, after] = [changed.subarray(0, at), changed.subarray(at)];
    if (does === "truncate") changed = Buffer.from(before);
    else if (does === "remove") changed = Buffer.concat([before, after.subarray(length)]);
    else if (does === "insert") changed = Buffer.concat([before, Buffer.alloc(length, value), after]);
    else if (does === "repeat") changed = Buffer.concat([before, after.subarray(0, length), after]);
    else changed = Buffer.concat([before, Buffer.of(value), after.subarray(1)]);
  }
  return changed;
}
