import type { Builder } from "flatbuffers";
import type { ArrowType } from "./arrow-field.js";
import type { Block, Body, ColumnData, IpcContent, WrittenField } from "./ipc-content.js";
import {
  alignment,
  blockBytes,
  bufferBytes,
  Codec,
  doublePrecision,
  littleEndian,
  nodeBytes,
  Slot,
  TypeId,
} from "./ipc-format.js";

/** Adds the vector of the places of messages. FlatBuffers are built from their end, so vectors are filled in reverse. */
export function blockVector(b: Builder, blocks: readonly Block[]): number {
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

/** Adds the table of a record batch. */
export function batchTable(b: Builder, columns: readonly ColumnData[], body: Body, isCompressed: boolean): number {
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

/** Adds the table of a dictionary, whose values are in a record batch. */
export function dictionaryBatchTable(b: Builder, id: number, batch: number): number {
  b.startObject(3);
  b.addFieldInt64(Slot.dictionaryBatch.id, BigInt(id), 0n);
  b.addFieldOffset(Slot.dictionaryBatch.data, batch, 0);
  return b.endObject();
}

/** Adds the table of a schema. */
export function schemaTable(b: Builder, fields: readonly WrittenField[], metadata: IpcContent["metadata"]): number {
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
