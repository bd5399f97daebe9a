import { Builder } from "flatbuffers";
import { arrowMagic } from "../is-arrow.js";
import type { Block, Body, ColumnData, IpcContent, WrittenField } from "./ipc-content.js";
import { aligned, continuation, MessageHeader, MetadataVersion, notCompressed, Slot } from "./ipc-format.js";
import { batchTable, blockVector, dictionaryBatchTable, schemaTable } from "./ipc-tables.js";

/**
 * Writes an Arrow IPC file in chunks. Chunks are views of the columns where possible.
 *
 * @param compress compresses a buffer with zstd
 */
export function* writeIpc(
  { metadata, fields, dictionaries, batches }: IpcContent,
  compress?: (bytes: Uint8Array) => Uint8Array,
): Generator<Uint8Array, void, undefined> {
  let offset = 0;
  const placed = (chunk: Uint8Array): Uint8Array => {
    offset += chunk.length;
    return chunk;
  };
  const dictionaryBlocks: Block[] = [];
  const batchBlocks: Block[] = [];
  yield placed(padded(arrowMagic));
  yield placed(message(0, MessageHeader.schema, (b) => schemaTable(b, fields, metadata)));
  const all = [
    ...dictionaries.map((values, id) => ({ columns: [values], id, blocks: dictionaryBlocks })),
    ...batches.map((columns) => ({ columns, id: undefined, blocks: batchBlocks })),
  ];
  for (const { columns, id, blocks } of all) {
    const body = bodyOf(columns, compress);
    const type = id === undefined ? MessageHeader.recordBatch : MessageHeader.dictionaryBatch;
    const metadataChunk = message(body.bytes, type, (b) => {
      const batch = batchTable(b, columns, body, compress !== undefined);
      return id === undefined ? batch : dictionaryBatchTable(b, id, batch);
    });
    blocks.push({ offset, metadataBytes: metadataChunk.length, bodyBytes: body.bytes });
    yield placed(metadataChunk);
    for (const chunk of body.chunks) if (chunk.length > 0) yield placed(chunk);
  }
  yield endOfStream();
  yield footer(fields, metadata, dictionaryBlocks, batchBlocks);
}

function bodyOf(columns: readonly ColumnData[], compress: ((bytes: Uint8Array) => Uint8Array) | undefined): Body {
  const places: { offset: number; length: number }[] = [];
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const add = ({ buffers, children }: ColumnData): void => {
    for (const { buffer, byteOffset, byteLength } of buffers) {
      const plain = new Uint8Array(buffer, byteOffset, byteLength);
      const parts = compress === undefined || byteLength === 0 ? [plain] : compressed(plain, compress);
      const length = parts.reduce((sum, part) => sum + part.length, 0);
      places.push({ offset: bytes, length });
      chunks.push(...parts, new Uint8Array(aligned(length) - length));
      bytes += aligned(length);
    }
    children.forEach(add);
  };
  columns.forEach(add);
  return { places, chunks, bytes };
}

/** Returns a compressed buffer, which begins with its length before compression. */
function compressed(bytes: Uint8Array, compress: (bytes: Uint8Array) => Uint8Array): readonly Uint8Array[] {
  const data = compress(bytes);
  const isSmaller = data.length < bytes.length;
  const prefix = new DataView(new ArrayBuffer(8));
  prefix.setBigInt64(0, BigInt(isSmaller ? bytes.length : notCompressed), true);
  return [new Uint8Array(prefix.buffer), isSmaller ? data : bytes];
}

/** Returns a message without its body: a continuation marker, the length of the metadata, and the metadata. */
function message(bodyBytes: number, type: number, header: (b: Builder) => number): Uint8Array {
  const b = new Builder(1024);
  const table = header(b);
  b.startObject(5);
  b.addFieldInt16(Slot.message.version, MetadataVersion.v5, 0);
  b.addFieldInt8(Slot.message.headerType, type, 0);
  b.addFieldOffset(Slot.message.header, table, 0);
  b.addFieldInt64(Slot.message.bodyLength, BigInt(bodyBytes), 0n);
  b.finish(b.endObject());
  const metadata = padded(b.asUint8Array());
  const chunk = new Uint8Array(8 + metadata.length);
  const view = new DataView(chunk.buffer);
  view.setInt32(0, continuation, true);
  view.setInt32(4, metadata.length, true);
  chunk.set(metadata, 8);
  return chunk;
}

function endOfStream(): Uint8Array {
  const chunk = new Uint8Array(8);
  new DataView(chunk.buffer).setInt32(0, continuation, true);
  return chunk;
}

function footer(
  fields: readonly WrittenField[],
  metadata: IpcContent["metadata"],
  dictionaries: readonly Block[],
  batches: readonly Block[],
): Uint8Array {
  const b = new Builder(4096);
  const schema = schemaTable(b, fields, metadata);
  const vectors = [batches, dictionaries].map((blocks) => blockVector(b, blocks));
  b.startObject(5);
  b.addFieldInt16(Slot.footer.version, MetadataVersion.v5, 0);
  b.addFieldOffset(Slot.footer.schema, schema, 0);
  b.addFieldOffset(Slot.footer.dictionaries, vectors[1], 0);
  b.addFieldOffset(Slot.footer.recordBatches, vectors[0], 0);
  b.finish(b.endObject());
  const table = b.asUint8Array();
  const chunk = new Uint8Array(table.length + 4 + arrowMagic.length);
  chunk.set(table);
  new DataView(chunk.buffer).setInt32(table.length, table.length, true);
  chunk.set(arrowMagic, table.length + 4);
  return chunk;
}

function padded(bytes: Uint8Array): Uint8Array {
  const chunk = new Uint8Array(aligned(bytes.length));
  chunk.set(bytes);
  return chunk;
}
