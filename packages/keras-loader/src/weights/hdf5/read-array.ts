import type { FileBytes } from "./file-bytes.js";
import { readFilters, unfilter } from "./filters.js";
import { leavesOf } from "./links.js";
import { type Message, MessageType } from "./object-header.js";

/** Chunks may extend beyond their array, but at most by this factor, since HDF5 chooses smaller ones. */
const mostBeyond = 64;
const leastChunkBytes = 1 << 20;

const product = (sizes: readonly number[]): number => sizes.reduce((all, size) => all * size, 1);

/**
 * Returns the bytes of an array, element by element. Allocations are proportional to the declared size of the array.
 *
 * @param shape the shape, accepted by the caller
 */
export function readArray(
  file: FileBytes,
  messages: readonly Message[],
  shape: readonly number[],
  elementBytes: number,
): Uint8Array {
  const layout = messages.find(({ type }) => type === MessageType.layout);
  if (layout === undefined) throw new Error("an array has no data");
  const bytes = product(shape) * elementBytes;
  if (!Number.isSafeInteger(bytes)) throw new Error(`the array shape [${shape.join(", ")}] is not supported`);
  const { at } = layout;
  const version = file.u8(at);
  if (version < 1 || version > 4) throw new Error(`layouts of version ${version} are not supported`);
  const isOld = version < 3;
  const kind = file.u8(at + (isOld ? 2 : 1));
  if (kind === 0 && !isOld) return bytesOf(file, at + 4, file.u16(at + 2), bytes);
  const address = file.address(at + (isOld ? 8 : kind === 1 ? 2 : 3));
  if (kind === 1) return address === undefined ? new Uint8Array(bytes) : bytesOf(file, address, bytes, bytes);
  if (kind !== 2 || version === 4)
    throw new Error("the layout (libver='latest') is not supported: save it with h5py's defaults");
  const dimensions = file.u8(at + (isOld ? 1 : 2)) - 1;
  if (dimensions !== shape.length || dimensions < 1)
    throw new Error("the chunks and the array have different dimensions");
  const chunk = shape.map((_, i) => file.u32(at + (isOld ? 16 : 11) + 4 * i));
  const filters = messages
    .filter(({ type }) => type === MessageType.filters)
    .flatMap((message) => readFilters(file, message.at, message.end));
  return readChunks(file, { address, shape, chunk, filters, elementBytes, bytes });
}

function bytesOf(file: FileBytes, at: number, found: number, bytes: number): Uint8Array {
  if (found < bytes) throw new Error(`found ${found} bytes of data, expected ${bytes}`);
  return file.slice(at, bytes);
}

interface ChunkedArray {
  readonly address: number | undefined;
  readonly shape: readonly number[];
  readonly chunk: readonly number[];
  readonly filters: readonly number[];
  readonly elementBytes: number;
  readonly bytes: number;
}

function readChunks(file: FileBytes, array: ChunkedArray): Uint8Array {
  const { address, shape, chunk, filters, elementBytes, bytes } = array;
  const chunkBytes = product(chunk) * elementBytes;
  const chunks = product(shape.map((size, i) => Math.ceil(size / chunk[i]!)));
  if (chunkBytes === 0 || !(chunks * chunkBytes <= mostBeyond * bytes + leastChunkBytes))
    throw new Error(`found chunks of ${chunkBytes} bytes for an array of ${bytes}`);
  const out = new Uint8Array(bytes);
  if (address === undefined || bytes === 0) return out;
  const keyBytes = 8 + 8 * (shape.length + 1);
  const keyAt = (node: number, i: number): number => node + 24 + i * (keyBytes + 8);
  const addressOf = (node: number, i: number): number => file.u64(keyAt(node, i) + keyBytes);
  const seen = new Set<number>();
  leavesOf(file, address, 1, addressOf, (node, i) => {
    const key = keyAt(node, i);
    const [storedBytes, mask] = [file.u32(key), file.u32(key + 4)];
    const offset = shape.map((_, d) => file.u64(key + 8 + 8 * d));
    const isIn = offset.every((from, d) => from < shape[d]! && from % chunk[d]! === 0);
    const place = offset.reduce((at, from, d) => at * shape[d]! + from, 0);
    if (!isIn || seen.has(place))
      throw new Error(`the chunk at [${offset.join(", ")}] is outside its array or duplicated`);
    seen.add(place);
    const stored = file.slice(addressOf(node, i), filters.length === 0 ? chunkBytes : storedBytes);
    copyChunk(unfilter(stored, filters, mask, chunkBytes, elementBytes), offset, array, out);
  });
  return out;
}

/** Copies a chunk to its place, row by row. */
function copyChunk(
  from: Uint8Array,
  offset: readonly number[],
  { shape, chunk, elementBytes }: ChunkedArray,
  out: Uint8Array,
): void {
  const last = shape.length - 1;
  const sizes = shape.map((size, d) => Math.min(chunk[d]!, size - offset[d]!));
  const rowBytes = sizes[last]! * elementBytes;
  const position = sizes.map(() => 0);
  for (;;) {
    let [source, target] = [0, 0];
    for (let d = 0; d <= last; d++) {
      source = source * chunk[d]! + position[d]!;
      target = target * shape[d]! + offset[d]! + position[d]!;
    }
    out.set(from.subarray(source * elementBytes, source * elementBytes + rowBytes), target * elementBytes);
    let d = last - 1;
    while (d >= 0 && ++position[d]! === sizes[d]) position[d--] = 0;
    if (d < 0) return;
  }
}
