import { inflateExactly } from "../../inflate-exactly.js";
import type { FileBytes } from "./file-bytes.js";

/** Returns the numbers of the filters through which chunks were written, in order. */
export function readFilters(file: FileBytes, at: number, end: number): readonly number[] {
  const version = file.u8(at);
  if (version !== 1 && version !== 2) throw new Error(`filters of version ${version} are not supported`);
  const count = file.u8(at + 1);
  const filters: number[] = [];
  for (let i = 0, next = at + (version === 1 ? 8 : 2); i < count; i++) {
    const id = file.u16(next);
    filters.push(id);
    const hasName = version === 1 || id > 255;
    const nameBytes = hasName ? file.u16(next + 2) : 0;
    const values = file.u16(next + (hasName ? 6 : 4));
    next += (hasName ? 8 : 6) + (version === 1 ? 8 * Math.ceil(nameBytes / 8) : nameBytes);
    next += 4 * (version === 1 ? values + (values % 2) : values);
    if (next > end) throw new Error("the filters are longer than their message");
  }
  return filters;
}

const gzip = 1;
const shuffle = 2;
const fletcher32 = 3;
const checksumBytes = 4;

/**
 * Reverses the filters of a chunk, which then has `bytes` bytes.
 *
 * @param mask bits of the filters that were left out
 */
export function unfilter(
  stored: Uint8Array,
  filters: readonly number[],
  mask: number,
  bytes: number,
  elementBytes: number,
): Uint8Array {
  let chunk = stored;
  for (let i = filters.length - 1; i >= 0; i--) {
    if ((mask & (1 << i)) !== 0) continue;
    const filter = filters[i];
    // Checksums that earlier filters added to the chunk.
    const added = filters.slice(0, i).filter((each, j) => each === fletcher32 && (mask & (1 << j)) === 0).length;
    if (filter === gzip) chunk = unzlib(chunk, bytes + checksumBytes * added);
    else if (filter === shuffle) chunk = unshuffle(chunk, elementBytes);
    else if (filter === fletcher32) chunk = withoutChecksum(chunk);
    else throw new Error(`filter ${filter} is not supported: save the file without it`);
  }
  if (chunk.length !== bytes) throw new Error(`a chunk has ${chunk.length} bytes, expected ${bytes}`);
  return chunk;
}

function unzlib(chunk: Uint8Array, bytes: number): Uint8Array {
  const [method = 0, flags = 0] = chunk;
  if (chunk.length < 6 || (method & 15) !== 8 || ((method << 8) | flags) % 31 !== 0 || (flags & 32) !== 0)
    throw new Error("a chunk is not compressed as declared");
  const unpacked = inflateExactly(chunk.subarray(2, -checksumBytes), bytes);
  if (adler32(unpacked) !== new DataView(chunk.buffer, chunk.byteOffset, chunk.length).getUint32(chunk.length - 4))
    throw new Error("a chunk is damaged: the checksum differs");
  return unpacked;
}

function adler32(bytes: Uint8Array): number {
  let a = 1;
  let b = 0;
  for (let at = 0; at < bytes.length; ) {
    // The sums fit 32 bits for this many bytes before a remainder must be taken.
    const end = Math.min(bytes.length, at + 3800);
    for (; at < end; at++) {
      a += bytes[at]!;
      b += a;
    }
    a %= 65521;
    b %= 65521;
  }
  return b * 65536 + a;
}

function unshuffle(chunk: Uint8Array, elementBytes: number): Uint8Array {
  const out = chunk.slice();
  const count = Math.floor(chunk.length / elementBytes);
  for (let byte = 0; byte < elementBytes; byte++)
    for (let i = 0; i < count; i++) out[i * elementBytes + byte] = chunk[byte * count + i]!;
  return out;
}

/** Returns a chunk without its checksum, which must match. Source: `H5_checksum_fletcher32`. */
function withoutChecksum(chunk: Uint8Array): Uint8Array {
  const length = chunk.length - checksumBytes;
  if (length < 0) throw new Error("a chunk has no checksum");
  let [a, b] = [0, 0];
  for (let at = 0; at < length; at += 2) {
    a = (a + ((chunk[at]! << 8) | (at + 1 < length ? chunk[at + 1]! : 0))) % 65535;
    b = (b + a) % 65535;
  }
  const stored = new DataView(chunk.buffer, chunk.byteOffset + length, checksumBytes).getUint32(0, true);
  if ((stored >>> 16) % 65535 !== b || (stored & 0xffff) % 65535 !== a)
    throw new Error("a chunk is damaged: the checksum differs");
  return chunk.subarray(0, length);
}
