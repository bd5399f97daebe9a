import { Builder } from "flatbuffers";
import { arrowMagic } from "../is-arrow.js";
import type { ArrowField, ArrowType } from "./arrow-field.js";
import {
  aligned,
  alignment,
  blockBytes,
  bufferBytes,
  Codec,
  continuation,
  doublePrecision,
  littleEndian,
  MessageHeader,
  MetadataVersion,
  nodeBytes,
  notCompressed,
  Slot,
  TypeId,
} from "./ipc-format.js";

/** A column to write: its buffers in the order of the format, and its children. */
export interface ColumnData {
  readonly length: number;
  readonly nullCount: number;
  /** The first buffer has the validity bits. It is empty if there are no nulls. */
  readonly buffers: readonly ArrayBufferView[];
  readonly children: readonly ColumnData[];
}

/** A field to write. `dictionary` is the number of its dictionary. */
export interface WrittenField extends ArrowField {
  readonly dictionary?: number;
}

/** The content of a file. */
export interface IpcContent {
  readonly metadata: Readonly<Record<string, string>>;
  readonly fields: readonly WrittenField[];
  /** The values of each dictionary, by its number. */
  readonly dictionaries: readonly ColumnData[];
  readonly batches: readonly (readonly ColumnData[])[];
}

interface Block {
  readonly offset: number;
  readonly metadataBytes: number;
  readonly bodyBytes: number;
}

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

/** The buffers of a record batch: their places in its body, and the body as chunks. */
interface Body {
  readonly places: readonly { readonly offset: number; readonly length: number }[];
  readonly chunks: readonly Uint8Array[];
  readonly bytes: number;
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

// FlatBuffers are built from their end, so vectors are filled in reverse.
function blockVector(b: Builder, blocks: readonly Block[]): number {
  b.startVector(blockBytes, blocks.length, alignment);
  for (const { offset, metadataBytes, bodyBytes } of blocks.toReversed()) {
    b.prep(alignment, blockBytes);
    b.writeInt64(BigInt(bodyBytes));
    b.pad(4);
    b.writeInt32(metadataBytes);
    b.writeInt64(BigInt(offset));
  }
  return b.endVector();
}

/** Adds a vector of structs of two 64-bit integers. */
function pairVector(b: Builder, pairs: readonly (readonly [number, number])[], bytesEach: number): number {
  b.startVector(bytesEach, pairs.length, alignment);
  for (const [first, second] of pairs.toReversed()) {
    b.prep(alignment, bytesEach);
    b.writeInt64(BigInt(second));
    b.writeInt64(BigInt(first));
  }
  return b.endVector();
}

function batchTable(b: Builder, columns: readonly ColumnData[], body: Body, isCompressed: boolean): number {
  const nodes: [number, number][] = [];
  const addNode = ({ length, nullCount, children }: ColumnData): void => {
    nodes.push([length, nullCount]);
    children.forEach(addNode);
  };
  columns.forEach(addNode);
  const places = body.places.map(({ offset, length }): [number, number] => [offset, length]);
  const nodeVector = pairVector(b, nodes, nodeBytes);
  const bufferVector = pairVector(b, places, bufferBytes);
  const compression = isCompressed ? compressionTable(b) : 0;
  b.startObject(5);
  b.addFieldInt64(Slot.recordBatch.length, BigInt(columns[0].length), 0n);
  b.addFieldOffset(Slot.recordBatch.nodes, nodeVector, 0);
  b.addFieldOffset(Slot.recordBatch.buffers, bufferVector, 0);
  b.addFieldOffset(Slot.recordBatch.compression, compression, 0);
  return b.endObject();
}

function compressionTable(b: Builder): number {
  b.startObject(2);
  b.addFieldInt8(Slot.compression.codec, Codec.zstd, 0);
  return b.endObject();
}

function dictionaryBatchTable(b: Builder, id: number, batch: number): number {
  b.startObject(3);
  b.addFieldInt64(Slot.dictionaryBatch.id, BigInt(id), 0n);
  b.addFieldOffset(Slot.dictionaryBatch.data, batch, 0);
  return b.endObject();
}

function schemaTable(b: Builder, fields: readonly WrittenField[], metadata: IpcContent["metadata"]): number {
  const fieldVector = offsetVector(
    b,
    fields.map((field) => fieldTable(b, field)),
  );
  const pairs = Object.entries(metadata).map(([key, value]) => {
    const [keyText, valueText] = [b.createString(key), b.createString(value)];
    b.startObject(2);
    b.addFieldOffset(Slot.keyValue.key, keyText, 0);
    b.addFieldOffset(Slot.keyValue.value, valueText, 0);
    return b.endObject();
  });
  const metadataVector = offsetVector(b, pairs);
  b.startObject(4);
  b.addFieldInt16(Slot.schema.endianness, littleEndian, 0);
  b.addFieldOffset(Slot.schema.fields, fieldVector, 0);
  b.addFieldOffset(Slot.schema.metadata, metadataVector, 0);
  return b.endObject();
}

function fieldTable(b: Builder, { name, type, isNullable = false, indices, dictionary }: WrittenField): number {
  const nameText = b.createString(name);
  const children = offsetVector(
    b,
    childrenOf(type).map((child) => fieldTable(b, child)),
  );
  const encoding = indices === undefined ? 0 : encodingTable(b, dictionary!, indices);
  const [typeId, table] = typeTable(b, type);
  b.startObject(7);
  b.addFieldOffset(Slot.field.name, nameText, 0);
  b.addFieldInt8(Slot.field.nullable, isNullable ? 1 : 0, 0);
  b.addFieldInt8(Slot.field.typeId, typeId, 0);
  b.addFieldOffset(Slot.field.type, table, 0);
  b.addFieldOffset(Slot.field.dictionary, encoding, 0);
  b.addFieldOffset(Slot.field.children, children, 0);
  return b.endObject();
}

function childrenOf(type: ArrowType): readonly WrittenField[] {
  return type.kind === "list" ? [type.item] : type.kind === "struct" ? type.fields : [];
}

function encodingTable(b: Builder, id: number, indices: Extract<ArrowType, { readonly kind: "int" }>): number {
  const [, table] = typeTable(b, indices);
  b.startObject(4);
  b.addFieldInt64(Slot.dictionary.id, BigInt(id), 0n);
  b.addFieldOffset(Slot.dictionary.indices, table, 0);
  return b.endObject();
}

/** Adds the table of a type and returns its kind in Arrow's union of types, and its offset. */
function typeTable(b: Builder, type: ArrowType): readonly [number, number] {
  switch (type.kind) {
    case "int":
      b.startObject(2);
      b.addFieldInt32(Slot.int.bits, type.bits, 0);
      b.addFieldInt8(Slot.int.isSigned, type.isSigned ? 1 : 0, 0);
      return [TypeId.int, b.endObject()];
    case "float64":
      b.startObject(1);
      b.addFieldInt16(Slot.floatingPoint.precision, doublePrecision, 0);
      return [TypeId.floatingPoint, b.endObject()];
    default:
      b.startObject(0);
      return [TypeId[type.kind], b.endObject()];
  }
}

function offsetVector(b: Builder, offsets: readonly number[]): number {
  b.startVector(4, offsets.length, 4);
  for (const offset of offsets.toReversed()) b.addOffset(offset);
  return b.endVector();
}

function padded(bytes: Uint8Array): Uint8Array {
  const chunk = new Uint8Array(aligned(bytes.length));
  chunk.set(bytes);
  return chunk;
}
