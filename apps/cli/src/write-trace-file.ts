import { pipeline, Readable } from "node:stream";
import { createGzip } from "node:zlib";
import { type Trace, writeTrace } from "@remat/trace";
import type { ConsoleIo } from "./console-io.js";
import { writeFor } from "./output.js";

/** Writes a trace to the file that `option` names, gzipped if its name ends in `.gz`. */
export async function writeTraceFile(trace: Trace, path: string, io: ConsoleIo, option = "--trace"): Promise<void> {
  const lines = Readable.from(writeTrace(trace));
  // An error in the lines would not end the gzip stream that reads them.
  const content = path.endsWith(".gz") ? pipeline(lines, createGzip(), () => undefined) : lines;
  await writeFor(option, path, content, io);
}
