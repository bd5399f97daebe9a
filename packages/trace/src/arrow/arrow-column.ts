import { ArrowError } from "./arrow-error.js";
import { decompressZstd } from "./compression.js";
import type { FileField } from "./file-field.js";
import { readInt64 } from "./flat-table.js";
import { notCompressed } from "./ipc-format.js";

/** A typed array of the numbers in a column. */
type NumberArray = Float64Array | Int32Array | Uint32Array | Uint16Array | Uint8Array;
interface ArrayOf<T extends NumberArray> {
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): T;
}

/** Where the buffers of a column are. */
export interface ColumnSource {
  readonly buffers: readonly Uint8Array[];
  readonly isCompressed: boolean;
  /** Counts the bytes that buffers have after decompression, and throws beyond the limit. */
  readonly count: (bytes: number) => void;
}

/** A column of a record batch or of a dictionary. Its buffers are decompressed when they are read. */
export class ArrowColumn {
  readonly field: FileField;
  readonly length: number;
  readonly nullCount: number;
  readonly children: readonly ArrowColumn[];
  private readonly source: ColumnSource;

  constructor(
    field: FileField,
    { length, nullCount }: { readonly length: number; readonly nullCount: number },
    source: ColumnSource,
    children: readonly ArrowColumn[],
  ) {
    this.field = field;
    this.length = length;
    this.nullCount = nullCount;
    this.source = source;
    this.children = children;
  }

  /**
   * Returns a buffer as numbers, without a copy if possible.
   *
   * @param place the position of the buffer among those of the column; buffer 0 has the validity bits
   * @param count how many numbers the buffer has
   */
  numbers<T extends NumberArray>(place: number, array: ArrayOf<T>, count: number): T {
    const bytes = this.bytes(place, count * array.BYTES_PER_ELEMENT);
    const isAligned = bytes.byteOffset % array.BYTES_PER_ELEMENT === 0;
    const { buffer, byteOffset } = isAligned ? bytes : bytes.slice();
    return new array(buffer, byteOffset, count);
  }

  /** Returns the offsets of a column of lists or texts: `length + 1` ascending numbers that begin with 0. */
  offsets(): Int32Array {
    // A column without rows may leave its offsets out.
    const offsets = this.length === 0 ? new Int32Array(1) : this.numbers(1, Int32Array, this.length + 1);
    if (offsets[0] !== 0) throw new ArrowError(`its offsets begin with ${offsets[0]}, not 0`);
    for (let row = 0; row < this.length; row++)
      if (offsets[row + 1] < offsets[row]) throw new ArrowError(`its offsets descend at row ${row}`);
    return offsets;
  }

  /** Returns the validity bits of a column with nulls, otherwise undefined. */
  validity(): Uint8Array | undefined {
    return this.nullCount === 0 ? undefined : this.bytes(0, Math.ceil(this.length / 8));
  }

  /** Returns the first `length` bytes of a buffer. */
  bytes(place: number, length: number): Uint8Array {
    const buffer = this.source.buffers[place];
    const bytes = this.source.isCompressed ? this.decompress(buffer, length) : buffer;
    if (bytes.length < length) throw new ArrowError(`it has ${bytes.length} bytes of ${length}`);
    return bytes.subarray(0, length);
  }

  private decompress(buffer: Uint8Array, wanted: number): Uint8Array {
    if (buffer.length === 0) return buffer;
    if (buffer.length < 8) throw new ArrowError("its compressed data breaks off");
    const length = readInt64(new DataView(buffer.buffer, buffer.byteOffset), 0);
    const data = buffer.subarray(8);
    if (length === notCompressed) return data;
    // A buffer may be padded, but not by much. A few bytes could claim to be gigabytes.
    if (length < wanted || length > wanted + 64) throw new ArrowError(`it has ${length} bytes, not ${wanted}`);
    this.source.count(length);
    try {
      return decompressZstd(data, length);
    } catch (cause) {
      throw new ArrowError("its compressed data is damaged", { cause });
    }
  }
}
