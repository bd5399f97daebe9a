import { type FlateError, FlateErrorCode, Gunzip } from "fflate";
import { crc32 } from "./crc32.js";

const trailerBytes = 8;
/** What a chunk decompresses to, up to a thousand times its size, is in memory at once. */
const mostChunkBytes = 1 << 14;

/** Whether a file that begins with `bytes` is gzipped. @internal */
export function isGzip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && (bytes.length < 2 || bytes[1] === 0x8b);
}

/** Whether compressed data is all there, ends early, or is not what was once written. @internal */
export type GzipState = "whole" | "brokenOff" | "damaged";

/**
 * Decompresses the gzip data in `chunks` as far as it goes and hands the bytes on, as long as `take` says that it wants more; in a whole file the checksum is checked. The platform's own
 * `DecompressionStream` is faster, but throws away what it has when the data breaks off.
 *
 * @throws what `take` throws, and an error of fflate's where the data cannot be decompressed
 * @internal
 */
export function gunzip(chunks: readonly Uint8Array[], take: (bytes: Uint8Array) => boolean): GzipState {
  const { checksum, length, members, wantsMore } = inflate(chunks, take);
  if (!wantsMore) return "whole";
  // Nothing may have come of a header alone; and the checksums of earlier members are inside the data.
  if (length === 0 || members > 1) return "brokenOff";
  const found = lastBytes(chunks, trailerBytes);
  const expected = new DataView(new ArrayBuffer(trailerBytes));
  expected.setUint32(0, checksum, true);
  expected.setUint32(4, length % 2 ** 32, true);
  for (let i = 0; i < trailerBytes; i++)
    if (found[i] !== expected.getUint8(i)) return endsBeforeTrailer(chunks, checksum, length) ? "damaged" : "brokenOff";
  return "whole";
}

interface Inflated {
  readonly checksum: number;
  readonly length: number;
  readonly members: number;
  readonly wantsMore: boolean;
}

function inflate(chunks: readonly Uint8Array[], take: (bytes: Uint8Array) => boolean): Inflated {
  let checksum = 0;
  let length = 0;
  let members = 1;
  let wantsMore = true;
  const stream = new Gunzip((bytes) => {
    checksum = crc32(bytes, checksum);
    length += bytes.length;
    if (bytes.length > 0 && wantsMore) wantsMore = take(bytes);
  });
  stream.onmember = () => members++;
  for (const chunk of chunks)
    for (let at = 0; at < chunk.length && wantsMore; at += mostChunkBytes)
      stream.push(chunk.subarray(at, at + mostChunkBytes));
  return { checksum, length, members, wantsMore };
}

function lastBytes(chunks: readonly Uint8Array[], count: number): Uint8Array {
  const last: number[] = [];
  for (let c = chunks.length - 1; c >= 0 && last.length < count; c--)
    for (let i = chunks[c].length - 1; i >= 0 && last.length < count; i--) last.push(chunks[c][i]);
  return new Uint8Array(last.reverse());
}

/**
 * Whether the compressed data ends where a trailer of full length begins. It does if whatever stands in the trailer's place and after it changes
 * nothing in the data, and is taken for another file's header. (A code that is cut off goes on differently in zeros and in ones.)
 */
function endsBeforeTrailer(chunks: readonly Uint8Array[], checksum: number, length: number): boolean {
  const data: Uint8Array[] = [];
  let left = chunks.reduce((sum, chunk) => sum + chunk.length, 0) - trailerBytes;
  for (const chunk of chunks) {
    if (left <= 0) break;
    data.push(chunk.subarray(0, left));
    left -= chunk.length;
  }
  return [0x00, 0xff].every((filler) => {
    let sameSum = 0;
    let sameLength = 0;
    try {
      inflate([...data, new Uint8Array(8 * trailerBytes).fill(filler)], (bytes) => {
        sameSum = crc32(bytes, sameSum);
        sameLength += bytes.length;
        return true;
      });
    } catch (error) {
      const badHeader = (error as FlateError).code === FlateErrorCode.InvalidHeader;
      return badHeader && sameSum === checksum && sameLength === length;
    }
    return false;
  });
}
