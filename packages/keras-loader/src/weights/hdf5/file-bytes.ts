/** Metadata is read at most this many times per byte. A file whose structures overlap or repeat is damaged. */
const mostReads = 64;
const leastAllowance = 1 << 20;

/**
 * The bytes of an HDF5 file, read within their bounds and within a total limit. So the time to read is proportional to
 * the file size, however its structures refer to each other.
 */
export class FileBytes {
  readonly bytes: Uint8Array;
  private readonly view: DataView;
  private allowance: number;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.allowance = mostReads * bytes.length + leastAllowance;
  }

  /** Counts `length` bytes at `at` as read. */
  take(at: number, length: number): number {
    if (!(Number.isSafeInteger(at) && at >= 0 && length >= 0 && at + length <= this.bytes.length))
      throw new Error(`it refers to ${length} bytes at ${at}, but has ${this.bytes.length}`);
    this.allowance -= length + 1;
    if (this.allowance < 0) throw new Error("its structures refer to each other in a cycle");
    return at;
  }

  /** Returns bytes as they are in the file. */
  slice(at: number, length: number): Uint8Array {
    this.take(at, length);
    return this.bytes.subarray(at, at + length);
  }

  u8(at: number): number {
    return this.view.getUint8(this.take(at, 1));
  }

  u16(at: number): number {
    return this.view.getUint16(this.take(at, 2), true);
  }

  u32(at: number): number {
    return this.view.getUint32(this.take(at, 4), true);
  }

  /** Reads a 64-bit length. */
  u64(at: number): number {
    this.take(at, 8);
    return this.view.getUint32(at, true) + 2 ** 32 * this.view.getUint32(at + 4, true);
  }

  /** Reads an address. Undefined if it is the undefined address. */
  address(at: number): number | undefined {
    this.take(at, 8);
    const [low, high] = [this.view.getUint32(at, true), this.view.getUint32(at + 4, true)];
    return low === 0xffffffff && high === 0xffffffff ? undefined : low + 2 ** 32 * high;
  }

  /** Reads a number of one to eight bytes. */
  unsigned(at: number, width: number): number {
    let value = 0;
    for (let i = width - 1; i >= 0; i--) value = value * 256 + this.u8(at + i);
    return value;
  }

  text(at: number, length: number): string {
    const bytes = this.slice(at, length);
    let end = length;
    while (end > 0 && bytes[end - 1] === 0) end--;
    return new TextDecoder().decode(bytes.subarray(0, end));
  }

  /** Reads the text up to the next zero byte, before `end`. */
  textUntilZero(at: number, end: number): string {
    const zero = this.bytes.indexOf(0, at);
    if (zero < 0 || zero >= end) throw new Error(`a name at ${at} has no end`);
    return this.text(at, zero - at);
  }

  /** Checks the four letters at the start of a structure. */
  expect(at: number, signature: string): void {
    if (this.text(at, 4) !== signature) throw new Error(`expected ${signature} at ${at}`);
  }
}
