import { pipeline, Readable } from "node:stream";
import { createGzip } from "node:zlib";
import { type Trace, writeTrace } from "@remat/trace";
import type { ConsoleIo } from "./console-io.js";
import { writeFor } from "./output.js";

/**
 * Writes a trace to the file that `option` names: as an Arrow file if its name ends in `.arrow`, otherwise as JSON
 * Lines. If `.gz` follows, the file is gzipped.
 */
export async function writeTraceFile(trace: Trace, path: string, io: ConsoleIo, option = "--trace"): Promise<void> {
  const isZipped = path.endsWith(".gz");
  const chunks = Readable.from(isArrowName(path) ? await arrowChunks(trace, isZipped) : writeTrace(trace));
  // An error in the chunks would not end the gzip stream that reads them.
  const content = isZipped ? pipeline(chunks, createGzip(), () => undefined) : chunks;
  await writeFor(option, path, content, io);
}

async function arrowChunks(trace: Trace, isZipped: boolean): Promise<Iterable<Uint8Array>> {
  const { writeArrowTrace } = await import("@remat/trace/arrow");
  // Data that is already compressed gets no smaller.
  return writeArrowTrace(trace, isZipped ? { compress: false } : {});
}

/** Returns whether a trace becomes an Arrow file at `path`. */
export function isArrowName(path: string): boolean {
  return /\.arrow(?:\.gz)?$/.test(path);
}

/** Returns whether a file of this name gets a trace rather than a summary. */
export function isTraceName(path: string): boolean {
  return isArrowName(path) || /\.jsonl(?:\.gz)?$/.test(path);
}
