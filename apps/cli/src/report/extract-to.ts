import { gzipSync } from "node:zlib";
import { extractReport } from "@remat/report";
import { RematError } from "@remat/trace";
import { json } from "@remat/trace/emit";
import { readInputText } from "@remat/trace/files";
import type { ConsoleIo } from "../console-io.js";
import { writeFor } from "../output.js";
import { isTraceName, writeTraceFile } from "../write-trace-file.js";

/**
 * Writes the contents of a report. A file whose name is that of a trace (`.remat.jsonl`, `.remat.arrow`) gets the run itself. Any other file or the terminal
 * gets the summary, plans, comparison and environment as JSON.
 */
export async function extractTo(path: string, output: string | undefined, io: ConsoleIo): Promise<void> {
  let page: string;
  try {
    page = readInputText(path);
  } catch (cause) {
    throw new RematError("REPORT_READ", `${path}: cannot be read (${(cause as Error).message}). Name a report.`, {
      cause,
    });
  }
  const { meta, trace } = extractReport(page);
  if (output !== undefined && isTraceName(output)) return writeTraceFile(trace, output, io, "-o");
  const text = json`${json.value({ format: "remat-report/1", header: trace.header, ...meta }, 2)}\n`;
  if (output === undefined) io.stdout.write(text);
  else await writeFor("-o", output, output.endsWith(".gz") ? gzipSync(text) : text, io);
}
