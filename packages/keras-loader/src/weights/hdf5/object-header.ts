import type { FileBytes } from "./file-bytes.js";

/** Types of messages. */
export const MessageType = {
  dataspace: 0x01,
  linkInfo: 0x02,
  datatype: 0x03,
  link: 0x06,
  layout: 0x08,
  filters: 0x0b,
  attribute: 0x0c,
  continuation: 0x10,
  symbolTable: 0x11,
} as const;

/** A message of an object header, with its start and end in the file. */
export interface Message {
  readonly type: number;
  readonly at: number;
  readonly end: number;
}

interface Block {
  readonly at: number;
  readonly end: number;
}

/** Reads the messages of an object header, in all its blocks. Source: HDF5 File Format Specification 3.0, IV.A. */
export function readObjectHeader(file: FileBytes, at: number): readonly Message[] {
  const version = file.u8(at);
  if (version === 1) {
    const length = file.u32(at + 8);
    return readBlocks(file, { at: at + 16, end: at + 16 + length }, file.u16(at + 2), readMessage1, 0);
  }
  file.expect(at, "OHDR");
  const flags = file.u8(at + 5);
  const start = at + 6 + ((flags & 0x20) === 0 ? 0 : 16) + ((flags & 0x10) === 0 ? 0 : 4);
  const width = 1 << (flags & 3);
  const first = { at: start + width, end: start + width + file.unsigned(start, width) };
  const more = (flags & 4) === 0 ? 0 : 2;
  return readBlocks(file, first, Number.MAX_SAFE_INTEGER, (of, from) => readMessage2(of, from, more), 4);
}

type ReadsMessage = (file: FileBytes, at: number) => Message & { readonly isShared: boolean };

const readMessage1: ReadsMessage = (file, at) => {
  const length = file.u16(at + 2);
  return { type: file.u16(at), at: at + 8, end: at + 8 + length, isShared: (file.u8(at + 4) & 2) !== 0 };
};

function readMessage2(file: FileBytes, at: number, more: number): ReturnType<ReadsMessage> {
  const start = at + 4 + more;
  return { type: file.u8(at), at: start, end: start + file.u16(at + 1), isShared: (file.u8(at + 3) & 2) !== 0 };
}

const leastMessage = 8;

/** @param around size in bytes of the signature before each further block, and of the checksum after it */
function readBlocks(
  file: FileBytes,
  first: Block,
  count: number,
  read: ReadsMessage,
  around: number,
): readonly Message[] {
  const messages: Message[] = [];
  const blocks = [first];
  const seen = new Set([first.at]);
  const least = around === 0 ? leastMessage : 4;
  for (const block of blocks) {
    let { at } = block;
    while (at + least <= block.end && messages.length < count) {
      const { isShared, ...message } = read(file, at);
      if (message.end > block.end) throw new Error(`a message at ${at} is longer than the header that it is in`);
      file.take(message.at, message.end - message.at);
      if (message.type === MessageType.continuation) {
        const next = file.u64(message.at);
        const length = file.u64(message.at + 8);
        if (around > 0) file.expect(next, "OCHK");
        if (!seen.has(next)) blocks.push({ at: next + around, end: next + length - around });
        seen.add(next);
      }
      if (isShared && (message.type === MessageType.datatype || message.type === MessageType.dataspace))
        throw new Error("shared types, which Keras does not write, are not supported");
      messages.push(message);
      at = message.end;
    }
  }
  return messages;
}
