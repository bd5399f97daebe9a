import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import { UsageError } from "./usage-error.js";

/** How long to wait for a writer of a named pipe. */
const mostMs = 10_000;
const betweenMs = 20;

/**
 * Reads a named pipe to its end. Opening a pipe would block until a writer opens it. This waits at most ten seconds.
 *
 * @throws UsageError if there is no writer
 */
export async function* readNamedPipe(path: string): AsyncGenerator<Uint8Array> {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  let isOwned = true;
  try {
    // The pipe may have been replaced by another file since it was checked.
    if (!fstatSync(fd).isFIFO()) throw new UsageError(`${path}: it was a named pipe a moment ago. Name a file.`);
    const first = await firstBytes(fd, path);
    const socket = new Socket({ fd, readable: true, writable: false });
    isOwned = false;
    try {
      if (first.length > 0) yield first;
      yield* socket as AsyncIterable<Uint8Array>;
    } finally {
      socket.destroy();
    }
  } finally {
    if (isOwned) closeSync(fd);
  }
}

/** Waits for the first data. Returns an empty array if there is a writer that has not written yet. */
async function firstBytes(fd: number, path: string): Promise<Uint8Array> {
  const chunk = Buffer.alloc(1 << 16);
  // Uses a clock, because a sleep may take much longer on a busy machine.
  const began = performance.now();
  do {
    try {
      const count = readSync(fd, chunk);
      if (count > 0) return chunk.subarray(0, count);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      return new Uint8Array();
    }
    await setTimeout(betweenMs);
  } while (performance.now() - began < mostMs);
  throw new UsageError(
    `${path}: a named pipe that received no data for ${mostMs / 1000} seconds. Start the writer first, or name a file.`,
  );
}
