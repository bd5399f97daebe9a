import { readTrace } from "@remat/trace";
import { openInput } from "@remat/trace/files";
import type { RunImporter } from "./importer.js";

/** A trace written by remat. */
export const traceImporter: RunImporter = {
  name: "trace",
  gives: "run",
  example: "run.remat.jsonl",
  what: "a trace written by remat, compressed or not",
  ending: /\.remat\.jsonl(\.gz)?$/,
  offered: /\.remat\.jsonl(\.gz)?$/,
  recognises: (path, { text, isZipped }) =>
    text.includes('"remat":"trace"') || /\.jsonl(\.gz)?$/.test(path) || (isZipped && !path.endsWith(".json.gz")),
  read: (path, { damaged, signal, onProgress }) =>
    readTrace(openInput(path, { highWaterMark: 1 << 20, signal }), {
      name: path,
      damaged,
      onProgress,
    }),
};
