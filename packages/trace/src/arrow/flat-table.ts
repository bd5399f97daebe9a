/**
 * A table of a FlatBuffers message, the encoding of Arrow's metadata. Reads are checked: an offset that leads outside
 * of the message throws a RangeError.
 *
 * @see https://flatbuffers.dev/internals
 */
export class FlatTable {
  private readonly view: DataView;
  private readonly at: number;
  private readonly fields: number;
  private readonly fieldBytes: number;

  /** @param at the position of the table in the message */
  private constructor(view: DataView, at: number) {
    this.view = view;
    this.at = at;
    this.fields = at - view.getInt32(at, true);
    this.fieldBytes = view.getUint16(this.fields, true);
  }

  /** Returns the root table of a message. */
  static root(message: Uint8Array): FlatTable {
    const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
    return new FlatTable(view, view.getUint32(0, true));
  }

  /** Reads a bool, a byte or an enum of one byte. */
  byte(slot: number): number {
    const at = this.place(slot);
    return at === undefined ? 0 : this.view.getUint8(at);
  }

  int16(slot: number): number {
    const at = this.place(slot);
    return at === undefined ? 0 : this.view.getInt16(at, true);
  }

  int32(slot: number): number {
    const at = this.place(slot);
    return at === undefined ? 0 : this.view.getInt32(at, true);
  }

  int64(slot: number): number {
    const at = this.place(slot);
    return at === undefined ? 0 : readInt64(this.view, at);
  }

  text(slot: number): string | undefined {
    const vector = this.vector(slot, 1);
    if (vector === undefined) return undefined;
    const { buffer, byteOffset } = this.view;
    return new TextDecoder().decode(new Uint8Array(buffer, byteOffset + vector.at, vector.count));
  }

  table(slot: number): FlatTable | undefined {
    const at = this.place(slot);
    return at === undefined ? undefined : this.tableAt(at);
  }

  /** Yields the tables of a vector. A caller that stops early is safe from vectors with many references to one table. */
  *tables(slot: number): Generator<FlatTable, void, undefined> {
    const vector = this.vector(slot, 4);
    for (let i = 0; i < (vector?.count ?? 0); i++) yield this.tableAt(vector!.at + 4 * i);
  }

  /** Returns the vector of structs as bytes, or no bytes if there is none. */
  structs(slot: number, bytesEach: number): DataView {
    const vector = this.vector(slot, bytesEach);
    const { buffer, byteOffset } = this.view;
    return vector === undefined
      ? new DataView(new ArrayBuffer(0))
      : new DataView(buffer, byteOffset + vector.at, vector.count * bytesEach);
  }

  private vector(slot: number, bytesEach: number): { readonly at: number; readonly count: number } | undefined {
    const place = this.place(slot);
    if (place === undefined) return undefined;
    const at = place + this.view.getUint32(place, true);
    const count = this.view.getUint32(at, true);
    if (at + 4 + count * bytesEach > this.view.byteLength) throw new RangeError("a vector breaks off");
    return { at: at + 4, count };
  }

  private tableAt(at: number): FlatTable {
    return new FlatTable(this.view, at + this.view.getUint32(at, true));
  }

  /** Returns the position of a field, or undefined if it has its default value. */
  private place(slot: number): number | undefined {
    const entry = 4 + 2 * slot;
    if (entry + 2 > this.fieldBytes) return undefined;
    const offset = this.view.getUint16(this.fields + entry, true);
    return offset === 0 ? undefined : this.at + offset;
  }
}

/**
 * Reads a 64-bit integer.
 *
 * @throws RangeError if a number cannot represent it exactly
 */
export function readInt64(view: DataView, at: number): number {
  const value = view.getUint32(at, true) + view.getInt32(at + 4, true) * 2 ** 32;
  if (!Number.isSafeInteger(value)) throw new RangeError("a number is too large");
  return value;
}
