import { EventEmitter, once } from "node:events";
import { constants, createWriteStream } from "node:fs";
import { open } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/** What is to be written: at once, or in chunks as they come. */
export type Content = string | Uint8Array | Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;

/** Where standard output goes: the process's stream, or a test's. */
export interface OutputStream {
  write(chunk: string | Uint8Array): unknown;
}

/** Tells chunks from text and bytes, which are iterables of characters and numbers, too. */
export function chunksOf(content: Content): Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array> {
  return typeof content === "string" || content instanceof Uint8Array ? [content] : content;
}

/** Writes to what is open already, as far as the reader wants it. */
export async function writeToStream(
  content: Content,
  stream: OutputStream & { readonly destroyed?: boolean },
): Promise<void> {
  await untilClosed(async () => {
    for await (const chunk of chunksOf(content)) {
      if (stream.destroyed === true) return;
      const isTaken = stream.write(chunk);
      if (isTaken === false && stream instanceof EventEmitter) await once(stream, "drain");
    }
  });
}

/** Writes to a descriptor that somebody else opened, and leaves it open. */
export async function writeToDescriptor(content: Content, fd: number): Promise<void> {
  await pipe(content, createWriteStream("", { fd, autoClose: false }));
}

/** Writes into a character device, which stays what it is. */
export async function writeInto(content: Content, path: string): Promise<void> {
  const file = await open(path, constants.O_WRONLY);
  await pipe(content, file.createWriteStream());
}

async function pipe(content: Content, sink: NodeJS.WritableStream): Promise<void> {
  await untilClosed(() => pipeline(Readable.from(chunksOf(content)), sink));
}

/** A reader that has seen enough closes the pipe: that is no failure. */
async function untilClosed(write: () => Promise<void>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPIPE") throw error;
  }
}
