import { Gzip } from "fflate";
import { checkArgument, checkCallOptions, isFlag } from "./check-argument.js";
import { isTrace } from "./is-trace.js";
import type { Trace } from "./trace.js";
import { TraceEncoder } from "./trace-encoder.js";

/** Gzip's default level takes three times as long for a file that is only a quarter smaller. */
const gzipLevel = 3;
const chunkChars = 1 << 18;

/**
 * Writes a trace as JSON Lines (`.remat.jsonl`) in chunks of about 256 kB, gzipped if requested (`.remat.jsonl.gz`).
 *
 * @throws RematError `ARGUMENT`
 * @example
 * for (const chunk of writeTrace(trace, { gzip: true })) file.write(chunk);
 */
export function writeTrace(trace: Trace, options: { gzip?: boolean } = {}): Generator<Uint8Array, void, undefined> {
  checkArgument(
    isTrace(trace),
    "writeTrace's trace",
    trace,
    "one, such as await record(step) or await readTrace(bytes)",
  );
  checkCallOptions("writeTrace", options, { gzip: [isFlag, "true or false"] });
  return chunksOf(trace, options);
}

function* chunksOf(trace: Trace, options: { gzip?: boolean }): Generator<Uint8Array, void, undefined> {
  const encoder = new TextEncoder();
  const chunks: Uint8Array[] = [];
  const gzip = options.gzip ? new Gzip({ level: gzipLevel }, (chunk) => chunks.push(chunk)) : undefined;
  let pending = "";
  const flush = (final: boolean): void => {
    const bytes = encoder.encode(pending);
    pending = "";
    if (gzip) gzip.push(bytes, final);
    else if (bytes.length > 0) chunks.push(bytes);
  };
  for (const line of new TraceEncoder().end(trace)) {
    pending += `${line}\n`;
    if (pending.length >= chunkChars) {
      flush(false);
      while (chunks.length > 0) yield chunks.shift() as Uint8Array;
    }
  }
  flush(true);
  yield* chunks;
}
