import { decompress } from "fzstd";

/** The part of `node:zlib` that this package uses. Node has zstd since 22.15, and 23.8. */
interface Zlib {
  readonly constants: { readonly ZSTD_c_compressionLevel?: number; readonly ZSTD_c_checksumFlag?: number };
  gunzipSync(bytes: Uint8Array, options: { readonly maxOutputLength: number }): Uint8Array<ArrayBuffer>;
  zstdCompressSync?(bytes: Uint8Array, options: { readonly params: Readonly<Record<number, number>> }): Uint8Array;
  zstdDecompressSync?(
    bytes: Uint8Array,
    options: { readonly maxOutputLength: number; readonly chunkSize: number },
  ): Uint8Array<ArrayBuffer>;
}

/** Level 3, the default, takes almost twice as long for a file that is a tenth smaller. */
const zstdLevel = 1;

/** Node allows no smaller chunks. In a single chunk, the data need not be joined. */
const leastChunkBytes = 64;

/** Returns `node:zlib`, or undefined in a browser. */
export function nodeZlib(): Zlib | undefined {
  const { process } = globalThis as { readonly process?: { getBuiltinModule?(name: "node:zlib"): Zlib } };
  return process?.getBuiltinModule?.("node:zlib");
}

/** Returns a function that compresses with zstd, or undefined if the platform has none. */
export function zstdCompressor(): ((bytes: Uint8Array) => Uint8Array) | undefined {
  const zlib = nodeZlib();
  if (zlib?.zstdCompressSync === undefined) return undefined;
  const { ZSTD_c_compressionLevel: level, ZSTD_c_checksumFlag: checksum } = zlib.constants;
  const params = { [level!]: zstdLevel, [checksum!]: 1 };
  return (bytes) => zlib.zstdCompressSync!(bytes, { params });
}

/**
 * Decompresses zstd data of `length` bytes.
 *
 * @throws an error of the decompressor; RangeError if the data has another length
 */
export function decompressZstd(bytes: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
  const zlib = nodeZlib();
  const found =
    zlib?.zstdDecompressSync === undefined
      ? (decompress(bytes, new Uint8Array(length)) as Uint8Array<ArrayBuffer>)
      : zlib.zstdDecompressSync(bytes, {
          maxOutputLength: Math.max(length, 1),
          chunkSize: Math.max(length, leastChunkBytes),
        });
  if (found.length !== length) throw new RangeError(`expected ${length} bytes, found ${found.length}`);
  return found;
}
