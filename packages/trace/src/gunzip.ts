import { type FlateError, FlateErrorCode, Gunzip } from "fflate";
import { crc32 } from "./crc32.js";

const trailerBytes = 8;
/**
 * Size of the compressed pieces. All decompressed data of a piece, up to a thousand times as much, is in memory at once.
 */
const mostChunkBytes = 1 << 14;

/** Returns whether a file that begins with `bytes` is gzipped. @internal */
export function isGzip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && (bytes.length < 2 || bytes[1] === 0x8b);
}

/** The state of compressed data: complete, ending early, or different from the original. @internal */
export type GzipState = "whole" | "brokenOff" | "damaged";

/**
 * Decompresses the gzip data in `chunks` as far as possible and passes the bytes to `take`, until `take` returns false.
 * The checksum of a complete file is checked. The platform's own `DecompressionStream` is faster, but discards its
 * output if the data breaks off.
 *
 * @throws the errors of `take`, and an error of fflate if the data cannot be decompressed
 * @internal
 */
export function gunzip(chunks: readonly Uint8Array[], take: (bytes: Uint8Array) => boolean): GzipState {
  const { checksum, length, members, wantsMore } = inflate(chunks, take);
  if (!wantsMore) return "whole";
  // A header alone may produce no data, and the checksums of earlier members are inside the data.
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
 * Returns whether the compressed data ends exactly before the trailer. To test this, bytes are appended: they must not
 * change the decompressed data, and must be read as the header of another file. (A code that is cut off would continue
 * differently with zeros and with ones.)
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
