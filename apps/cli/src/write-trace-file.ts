import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { RematError, type Trace, writeTrace } from "@remat/trace";

/** Writes a trace beside its destination and renames it, so that a file that was there is lost only to a whole new one. */
export async function writeTraceFile(trace: Trace, path: string): Promise<void> {
  const partial = `${path}.${process.pid}.part`;
  try {
    const chunks = Readable.from(writeTrace(trace));
    if (path.endsWith(".gz")) await pipeline(chunks, createGzip(), createWriteStream(partial));
    else await pipeline(chunks, createWriteStream(partial));
    await rename(partial, path);
  } catch (cause) {
    await rm(partial, { force: true });
    throw new RematError(
      "TRACE_WRITE",
      `${path}: cannot be written (${(cause as Error).message}). Choose another file with --trace.`,
      { cause },
    );
  }
}
