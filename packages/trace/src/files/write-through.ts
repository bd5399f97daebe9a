import { EventEmitter, once } from "node:events";
import { constants, createWriteStream } from "node:fs";
import { open } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/** Content to write: all at once, or in chunks as they arrive. */
export type Content = string | Uint8Array | Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;

/** A destination for standard output: the stream of the process, or one of a test. */
export interface OutputStream {
  write(chunk: string | Uint8Array): unknown;
}

/** Returns content as chunks. Strings and byte arrays are single chunks, although they are iterable as well. */
export function chunksOf(content: Content): Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array> {
  return typeof content === "string" || content instanceof Uint8Array ? [content] : content;
}

/** Writes to a stream that is already open, until its reader closes it. */
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

/** Writes to a descriptor that was opened elsewhere, and leaves it open. */
export async function writeToDescriptor(content: Content, fd: number): Promise<void> {
  await pipe(content, createWriteStream("", { fd, autoClose: false }));
}

/** Writes to a character device without replacing it. */
export async function writeInto(content: Content, path: string): Promise<void> {
  const file = await open(path, constants.O_WRONLY);
  await pipe(content, file.createWriteStream());
}

async function pipe(content: Content, sink: NodeJS.WritableStream): Promise<void> {
  await untilClosed(() => pipeline(Readable.from(chunksOf(content)), sink));
}

/** Runs a write and ignores EPIPE, because a reader that has read enough closes the pipe. */
async function untilClosed(write: () => Promise<void>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPIPE") throw error;
  }
}
