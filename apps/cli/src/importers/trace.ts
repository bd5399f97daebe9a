import { readTrace, type Trace } from "@remat/trace";
import { openInput } from "@remat/trace/files";
import { isTraceName } from "../write-trace-file.js";
import { readHead } from "./file-head.js";
import type { ReadRunOptions, RunImporter } from "./importer.js";
import { readModelFile } from "./read-model-file.js";

/** A trace written by remat, in either format. */
export const traceImporter: RunImporter = {
  name: "trace",
  gives: "run",
  example: "run.remat.jsonl",
  what: "a trace written by remat, compressed or not",
  ending: /\.remat\.(?:jsonl|arrow)(\.gz)?$/,
  offered: /\.remat\.(?:jsonl|arrow)(\.gz)?$/,
  recognises: (path, { text, isZipped }) =>
    isArrowText(text) ||
    text.includes('"remat":"trace"') ||
    isTraceName(path) ||
    (isZipped && !path.endsWith(".json.gz")),
  read: async (path, options) =>
    isArrowText(readHead(path).text) ? readArrow(path, options) : readLines(path, options),
};

const isArrowText = (head: string): boolean => head.startsWith("ARROW1");

async function readArrow(path: string, { signal, onProgress }: ReadRunOptions): Promise<Trace> {
  const { readArrowTrace } = await import("@remat/trace/arrow");
  const bytes = readModelFile(path);
  signal?.throwIfAborted();
  onProgress?.(bytes.length);
  return readArrowTrace(bytes, { name: path });
}

function readLines(path: string, { damaged, signal, onProgress }: ReadRunOptions): Promise<Trace> {
  return readTrace(openInput(path, { highWaterMark: 1 << 20, signal }), { name: path, damaged, onProgress });
}
