import { Gunzip } from "fflate";

const trailerBytes = 8;

/** Whether a file that begins with `bytes` is gzipped. @internal */
export function isGzip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && (bytes.length < 2 || bytes[1] === 0x8b);
}

/**
 * Decompresses a gzip stream as far as it goes, and checks its checksum where it is whole. The platform's own `DecompressionStream` is
 * faster, but throws away what it has when a stream breaks off.
 * @internal
 */
export class GunzipStream {
  private readonly gunzip: Gunzip;
  private members = 1;
  private checksum = 0;
  private length = 0;
  /** The last bytes seen, which are the trailer if nothing follows. */
  private held: Uint8Array = new Uint8Array(0);

  constructor(take: (bytes: Uint8Array) => void) {
    this.gunzip = new Gunzip((bytes) => {
      this.checksum = crc32(bytes, this.checksum);
      this.length += bytes.length;
      if (bytes.length > 0) take(bytes);
    });
    this.gunzip.onmember = () => this.members++;
  }

  push(chunk: Uint8Array): void {
    const bytes = new Uint8Array(this.held.length + chunk.length);
    bytes.set(this.held);
    bytes.set(chunk, this.held.length);
    const cut = Math.max(0, bytes.length - trailerBytes);
    this.held = bytes.slice(cut);
    if (cut > 0) this.gunzip.push(bytes.subarray(0, cut));
  }

  /** Whether all that was decompressed is what was compressed; undefined where the stream breaks off, so that nobody can know. */
  end(): boolean | undefined {
    const { length } = this;
    this.gunzip.push(this.held);
    if (this.length > length || this.members > 1) return undefined;
    // Nothing came of the last 8 bytes, so they hold the trailer: checksum and length, or the first bytes of it.
    const trailer = new DataView(new ArrayBuffer(trailerBytes));
    trailer.setUint32(0, this.checksum, true);
    trailer.setUint32(4, this.length % 2 ** 32, true);
    const expected = Array.from(new Uint8Array(trailer.buffer));
    const found = Array.from(this.held);
    if (expected.every((byte, i) => byte === found[i])) return true;
    for (let cut = 1; cut < trailerBytes; cut++)
      if (expected.slice(0, trailerBytes - cut).every((byte, i) => byte === found[cut + i])) return undefined;
    return false;
  }
}

let crcTable: Int32Array | undefined;

/** CRC-32 as gzip has it (RFC 1952, section 8), of `bytes` after what `checksum` is of. @internal */
export function crc32(bytes: Uint8Array, checksum = 0): number {
  if (crcTable === undefined) {
    crcTable = new Int32Array(256);
    for (let byte = 0; byte < 256; byte++) {
      let c = byte;
      for (let bit = 0; bit < 8; bit++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
      crcTable[byte] = c;
    }
  }
  let c = ~checksum;
  for (let i = 0; i < bytes.length; i++) c = crcTable[(c ^ bytes[i]) & 0xff] ^ (c >>> 8);
  return ~c >>> 0;
}
