import { type GzipState, gunzip, isGzip } from "./gunzip.js";
import { gunzipByPlatform } from "./platform-gunzip.js";
import { RematError } from "./remat-error.js";
import type { Trace } from "./trace.js";
import { TraceDecoder } from "./trace-decoder.js";

/** Bytes of a file in pieces, as Node's and browsers' streams give them. */
export type ByteSource = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** How to read a trace. */
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
  const decoder = new TraceDecoder(name);
  let chunk = await next();
  while (chunk?.length === 0) chunk = await next();
  if (chunk !== undefined && isGzip(chunk)) {
    // Kept, since data that breaks off has to be decompressed again, by slower means.
    const kept: Uint8Array[] = [];
    const keep = async (): Promise<Uint8Array | undefined> => {
      const compressed = chunk?.slice();
      if (compressed === undefined) return undefined;
      kept.push(compressed);
      chunk = await next();
      return compressed;
    };
    if (await gunzipByPlatform(keep, (bytes) => decoder.push(bytes))) return decoder.end("whole");
    while ((await keep()) !== undefined);
    return parseGzip(name, kept);
  }
  for (; chunk !== undefined; chunk = await next()) decoder.push(chunk);
  return decoder.end();
}

/** {@link readTrace} for a whole file that is in memory. */
export function parseTrace(bytes: Uint8Array | string, options: Pick<ReadTraceOptions, "name"> = {}): Trace {
  const name = options.name ?? "trace";
  const whole = typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes;
  const step = 1 << 20;
  const pieces: Uint8Array[] = [];
  for (let i = 0; i < whole.length; i += step) pieces.push(whole.subarray(i, i + step));
  if (isGzip(whole)) return parseGzip(name, pieces);
  const decoder = new TraceDecoder(name);
  for (const piece of pieces) decoder.push(piece);
  return decoder.end();
}

function parseGzip(name: string, pieces: readonly Uint8Array[]): Trace {
  const decoder = new TraceDecoder(name);
  let state: GzipState;
  try {
    state = gunzip(pieces, (bytes) => decoder.push(bytes));
  } catch (error) {
    if (error instanceof RematError) throw error;
    throw decoder.damagedGzip((error as Error).message, error);
  }
  return decoder.end(state);
}
