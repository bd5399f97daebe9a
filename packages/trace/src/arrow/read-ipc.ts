import { arrowMagic, isArrow } from "../is-arrow.js";
import { ArrowColumn, type ColumnSource } from "./arrow-column.js";
import { ArrowError } from "./arrow-error.js";
import { type FileField, readFields } from "./file-field.js";
import { FlatTable, readInt64 } from "./flat-table.js";
import {
  aligned,
  alignment,
  blockBytes,
  bufferBytes,
  Codec,
  continuation,
  littleEndian,
  MessageHeader,
  MetadataVersion,
  nodeBytes,
  Slot,
} from "./ipc-format.js";

/** Far more metadata than a trace has. Overlapping texts of a larger footer could take minutes to read. */
const mostFooterBytes = 1 << 18;
const mostKeys = 100;
/** The most bytes that the compressed buffers of a file may have after decompression. */
const mostDecompressedBytes = 2 ** 32;

/** An Arrow IPC file in memory. Its columns are views of its bytes. */
export interface IpcFile {
  /** The metadata of the schema. */
  readonly metadata: ReadonlyMap<string, string>;
  /** Reads the columns of each record batch. */
  readonly batches: () => readonly (readonly ArrowColumn[])[];
  /** Reads the parts of a dictionary. */
  readonly dictionary: (id: number) => readonly ArrowColumn[];
}

/**
 * Returns whether an Arrow IPC file ends early. The place of everything in it is in its last bytes, so nothing of it
 * can be read.
 */
export function isCutShort(bytes: Uint8Array): boolean {
  return bytes.length < 2 * aligned(arrowMagic.length) || !isArrow(bytes.subarray(-arrowMagic.length));
}

/**
 * Reads the metadata of an Arrow IPC file whose first and last bytes were checked.
 *
 * @throws ArrowError, or RangeError if offsets lead out of the file
 */
export function readIpc(bytes: Uint8Array): IpcFile {
  const tail = bytes.length - arrowMagic.length - 4;
  const length = new DataView(bytes.buffer, bytes.byteOffset + tail).getInt32(0, true);
  const start = tail - length;
  if (!(length > 0 && length <= mostFooterBytes && start >= aligned(arrowMagic.length)))
    throw new ArrowError(`its footer has ${length} bytes`);
  const footer = FlatTable.root(bytes.subarray(start, tail));
  const version = footer.int16(Slot.footer.version);
  if (version !== MetadataVersion.v4 && version !== MetadataVersion.v5)
    throw new ArrowError(`its metadata has version ${version + 1} of Arrow, not 4 or 5`);
  const schema = footer.table(Slot.footer.schema);
  if (schema === undefined) throw new ArrowError("its footer has no schema");
  if (schema.int16(Slot.schema.endianness) !== littleEndian) throw new ArrowError("its numbers are big-endian");
  const body = bytes.subarray(0, start);
  const count = byteCounter();
  return {
    metadata: readMetadata(schema),
    batches: () => readBatches(footer, schema, body, count),
    dictionary: dictionaries(footer, schema, body, count),
  };
}

function byteCounter(): (bytes: number) => void {
  let left = mostDecompressedBytes;
  return (bytes) => {
    left -= bytes;
    if (left < 0) throw new ArrowError(`its columns have more than ${mostDecompressedBytes} bytes`);
  };
}

function readMetadata(schema: FlatTable): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  let count = 0;
  for (const each of schema.tables(Slot.schema.metadata)) {
    if (++count > mostKeys) throw new ArrowError("its schema has too much metadata");
    found.set(each.text(Slot.keyValue.key) ?? "", each.text(Slot.keyValue.value) ?? "");
  }
  return found;
}

function readBatches(
  footer: FlatTable,
  schema: FlatTable,
  body: Uint8Array,
  count: ColumnSource["count"],
): readonly (readonly ArrowColumn[])[] {
  const fields = readFields(schema);
  return readMessages(footer, Slot.footer.recordBatches, body).map((message) => {
    if (message.type !== MessageHeader.recordBatch) throw new ArrowError("its footer names a batch that is not there");
    return readBatch(message.header, message.body, fields, count);
  });
}

/** Returns a function that reads the parts of a dictionary. All its parts have the type of the first field that uses it. */
function dictionaries(
  footer: FlatTable,
  schema: FlatTable,
  body: Uint8Array,
  count: ColumnSource["count"],
): IpcFile["dictionary"] {
  let parts: Map<number, ArrowColumn[]> | undefined;
  const read = (): Map<number, ArrowColumn[]> => {
    const values = new Map<number, FileField>();
    for (const field of readFields(schema)) collectDictionaries(field, values);
    const found = new Map<number, ArrowColumn[]>();
    for (const message of readMessages(footer, Slot.footer.dictionaries, body)) {
      const data = message.header.table(Slot.dictionaryBatch.data);
      const id = message.header.int64(Slot.dictionaryBatch.id);
      const field = values.get(id);
      if (message.type !== MessageHeader.dictionaryBatch || data === undefined || field === undefined)
        throw new ArrowError("its footer names a dictionary that is not there");
      const isDelta = message.header.byte(Slot.dictionaryBatch.isDelta) === 1;
      if (found.has(id) !== isDelta) throw new ArrowError(`its dictionary ${id} is there twice`);
      found.set(id, [...(found.get(id) ?? []), ...readBatch(data, message.body, [field], count)]);
    }
    return found;
  };
  return (id) => (parts ??= read()).get(id) ?? [];
}

/** Collects the fields of the values of each dictionary, by its number. */
function collectDictionaries(field: FileField, into: Map<number, FileField>): void {
  if (field.dictionary !== undefined && !into.has(field.dictionary)) {
    if (field.type.kind !== "utf8") throw new ArrowError(`its column '${field.name}' has a dictionary of other values`);
    const { name, type } = field;
    into.set(field.dictionary, { name, type, children: [], buffers: 3, dictionary: undefined });
  }
  for (const child of field.children) collectDictionaries(child, into);
}

interface Message {
  readonly type: number;
  readonly header: FlatTable;
  readonly body: Uint8Array;
}

/** Reads the messages at the places that a vector of the footer lists. */
function readMessages(footer: FlatTable, slot: number, file: Uint8Array): readonly Message[] {
  const blocks = footer.structs(slot, blockBytes);
  const messages: Message[] = [];
  let metadataBytes = 0;
  for (let at = 0; at < blocks.byteLength; at += blockBytes) {
    const start = readInt64(blocks, at);
    const length = blocks.getInt32(at + 8, true);
    const end = start + length + readInt64(blocks, at + 16);
    // Many places could name one message.
    metadataBytes += length;
    if (!(start >= 0 && start % alignment === 0 && length >= 8 && start + length <= end && end <= file.length))
      throw new ArrowError(`its footer names a message at bytes ${start} to ${end} of ${file.length}`);
    if (metadataBytes > file.length) throw new ArrowError("its footer names a message several times");
    messages.push(readMessage(file.subarray(start, start + length), file.subarray(start + length, end)));
  }
  return messages;
}

function readMessage(metadata: Uint8Array, body: Uint8Array): Message {
  const view = new DataView(metadata.buffer, metadata.byteOffset, metadata.byteLength);
  const length = view.getInt32(4, true);
  if (view.getInt32(0, true) !== continuation || length < 0 || length + 8 > metadata.length)
    throw new ArrowError("one of its messages is damaged");
  const message = FlatTable.root(metadata.subarray(8, 8 + length));
  const header = message.table(Slot.message.header);
  if (header === undefined) throw new ArrowError("one of its messages is empty");
  return { type: message.byte(Slot.message.headerType), header, body };
}

/** Reads the columns of a record batch: a tree of `fields`, whose lengths and buffers are listed depth first. */
function readBatch(
  batch: FlatTable,
  body: Uint8Array,
  fields: readonly FileField[],
  count: ColumnSource["count"],
): readonly ArrowColumn[] {
  const nodes = batch.structs(Slot.recordBatch.nodes, nodeBytes);
  const places = batch.structs(Slot.recordBatch.buffers, bufferBytes);
  const compression = batch.table(Slot.recordBatch.compression);
  if (compression !== undefined && compression.byte(Slot.compression.codec) !== Codec.zstd)
    throw new ArrowError("its columns are compressed with LZ4. Write it with zstd or without compression");
  let node = 0;
  let buffer = 0;
  const take = (): Uint8Array => {
    const start = readInt64(places, buffer);
    const end = start + readInt64(places, buffer + 8);
    buffer += bufferBytes;
    if (!(start >= 0 && start <= end && end <= body.length))
      throw new ArrowError(`one of its buffers is at bytes ${start} to ${end} of ${body.length}`);
    return body.subarray(start, end);
  };
  const column = (field: FileField): ArrowColumn => {
    const [length, nullCount] = [readInt64(nodes, node), readInt64(nodes, node + 8)];
    node += nodeBytes;
    if (!(length >= 0 && length < 2 ** 31 && nullCount >= 0 && nullCount <= length))
      throw new ArrowError(`its column '${field.name}' has ${length} rows, ${nullCount} of them null`);
    const buffers = Array.from({ length: field.buffers }, take);
    const source = { buffers, isCompressed: compression !== undefined, count };
    return new ArrowColumn(field, { length, nullCount }, source, field.children.map(column));
  };
  return fields.map(column);
}
