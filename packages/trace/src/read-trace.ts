import { isGzip } from "./gunzip-stream.js";
import { gunzipByPlatform } from "./platform-gunzip.js";
import type { Trace } from "./trace.js";
import { TraceDecoder } from "./trace-decoder.js";

export type ByteSource = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

export interface ReadTraceOptions {
  /** Named in errors. */
  readonly name?: string;
  /** Called now and then with how many bytes have been read. */
  readonly onProgress?: (bytesRead: number) => void;
}

/**
 * Reads a trace file, gzipped or not, as a stream. A file that ends early is read up to its last whole record, and `trace.truncated`
 * says where; a corrupt one is refused.
 *
 * @throws RematError `TRACE_NOT_A_TRACE`, `TRACE_VERSION`, `TRACE_CORRUPT` (naming line and field)
 * @example
 * const trace = await readTrace(fs.createReadStream("run.remat.jsonl.gz"), { name: "run.remat.jsonl.gz" });
 */
export async function readTrace(source: ByteSource, options: ReadTraceOptions = {}): Promise<Trace> {
  const name = options.name ?? "trace";
  const iterator = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  let bytesRead = 0;
  const next = async (): Promise<Uint8Array | undefined> => {
    const { done, value } = await iterator.next();
    if (done) return undefined;
    bytesRead += value.length;
    options.onProgress?.(bytesRead);
    return value;
  };
  try {
    return await readChunks(name, next);
  } finally {
    await iterator.return?.();
  }
}

async function readChunks(name: string, next: () => Promise<Uint8Array | undefined>): Promise<Trace> {
  let decoder = new TraceDecoder(name);
  let chunk = await next();
  while (chunk?.length === 0) chunk = await next();
  if (chunk !== undefined && isGzip(chunk)) {
    // Kept, so that a stream which breaks off can be read again by slower means up to where it does.
    const compressed: Uint8Array[] = [];
    const keep = async (): Promise<Uint8Array | undefined> => {
      const kept = chunk?.slice();
      if (kept !== undefined) compressed.push(kept);
      chunk = kept && (await next());
      return kept;
    };
    if (await gunzipByPlatform(keep, (bytes) => decoder.push(bytes))) return decoder.end();
    decoder = new TraceDecoder(name);
    for (const kept of compressed) decoder.push(kept);
  }
  for (; chunk !== undefined; chunk = await next()) decoder.push(chunk);
  return decoder.end();
}

/** {@link readTrace} for a whole file that is in memory. */
export function parseTrace(bytes: Uint8Array | string, options: Pick<ReadTraceOptions, "name"> = {}): Trace {
  const decoder = new TraceDecoder(options.name ?? "trace");
  const whole = typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes;
  const step = 1 << 20;
  for (let i = 0; i < whole.length; i += step) decoder.push(whole.subarray(i, i + step));
  return decoder.end();
}
