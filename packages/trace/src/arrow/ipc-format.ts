/**
 * Numbers of Arrow's IPC file format, from `File.fbs`, `Message.fbs` and `Schema.fbs` of Apache Arrow.
 *
 * @see https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format
 */

/** Begins each message, followed by the length of its metadata. */
export const continuation = -1;
/** Messages, bodies and buffers begin at multiples of this many bytes. */
export const alignment = 8;

export const MetadataVersion = { v4: 3, v5: 4 } as const;
export const MessageHeader = { schema: 1, dictionaryBatch: 2, recordBatch: 3 } as const;
export const TypeId = { int: 2, floatingPoint: 3, utf8: 5, bool: 6, list: 12, struct: 13 } as const;
/** The precision of a floating-point type. */
export const doublePrecision = 2;
export const littleEndian = 0;
export const Codec = { lz4Frame: 0, zstd: 1 } as const;
/** In place of the length of a compressed buffer, if the buffer is not compressed. */
export const notCompressed = -1;

/** Positions of fields in the tables of the metadata. */
export const Slot = {
  footer: { version: 0, schema: 1, dictionaries: 2, recordBatches: 3 },
  message: { version: 0, headerType: 1, header: 2, bodyLength: 3 },
  schema: { endianness: 0, fields: 1, metadata: 2 },
  keyValue: { key: 0, value: 1 },
  field: { name: 0, nullable: 1, typeId: 2, type: 3, dictionary: 4, children: 5 },
  dictionary: { id: 0, indices: 1 },
  int: { bits: 0, isSigned: 1 },
  floatingPoint: { precision: 0 },
  dictionaryBatch: { id: 0, data: 1, isDelta: 2 },
  recordBatch: { length: 0, nodes: 1, buffers: 2, compression: 3 },
  compression: { codec: 0 },
} as const;

/** Bytes of the structs in vectors: the place of a message, the length of a column, the place of a buffer. */
export const blockBytes = 24;
export const nodeBytes = 16;
export const bufferBytes = 16;

/** Returns `length` rounded up to the alignment. */
export const aligned = (length: number): number => Math.ceil(length / alignment) * alignment;
