import { checkArgument, checkCallOptions, isRecord, isText, type OptionChecks } from "./check-argument.js";
import { type GzipState, gunzip, isGzip } from "./gunzip.js";
import { gunzipByPlatform } from "./platform-gunzip.js";
import { RematError } from "./remat-error.js";
import type { Trace } from "./trace.js";
import { TraceDecoder } from "./trace-decoder.js";

/**
 * The contents of a file: its bytes, its text (if it is not gzipped), or its bytes in pieces, as streams of Node and
 * browsers provide them.
 */
export type ByteSource = Uint8Array | string | AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** Options for {@link readTrace}. */
export interface ReadTraceOptions {
  /** The name of the file, for errors. */
  readonly name?: string | undefined;
  /** Called from time to time with the number of bytes read so far. */
  readonly onProgress?: ((bytesRead: number) => void) | undefined;
  /**
   * How to handle a file with an invalid record: reject it, or keep the part before it and set `trace.truncated`. The
   * default is `"refuse"`.
   */
  readonly damaged?: "refuse" | "keep" | undefined;
}

/**
 * Reads a trace file, gzipped or not, as a whole or as a stream. If the file ends early, it is read up to its last
 * complete record, and `trace.truncated` contains the place. A corrupt file is rejected. With `damaged: "keep"` it is
 * read up to the invalid record.
 *
 * @throws RematError `TRACE_NOT_A_TRACE`, `TRACE_VERSION`, `TRACE_CORRUPT` (with line and field), `ARGUMENT`
 * @example
 * const trace = await readTrace(fs.createReadStream("run.remat.jsonl.gz"), { name: "run.remat.jsonl.gz" });
 */
export async function readTrace(source: ByteSource, options: ReadTraceOptions = {}): Promise<Trace> {
  checkCallOptions("readTrace", options, readingOptions);
  const name = options.name ?? "trace";
  if (typeof source === "string" || source instanceof Uint8Array) return parseTrace(source, options);
  checkArgument(isIterable(source), "readTrace's source", source, expectedSource);
  const iterator = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  let bytesRead = 0;
  const next = async (): Promise<Uint8Array | undefined> => {
    const { done, value } = await iterator.next();
    if (done) return undefined;
    checkArgument(value instanceof Uint8Array, "a piece of readTrace's source", value, "bytes, a Uint8Array");
    bytesRead += value.length;
    options.onProgress?.(bytesRead);
    return value;
  };
  try {
    return await readChunks(name, next, options.damaged === "keep");
  } finally {
    await iterator.return?.();
  }
}

const expectedSource = "the bytes of a trace, such as await readFile(path), its text, or a stream of its bytes";

const readingOptions: OptionChecks = {
  name: [isText, "the file's name, for errors"],
  onProgress: [(value) => typeof value === "function", "a function of the bytes read so far"],
  damaged: [(value) => value === "keep" || value === "refuse", "keep or refuse"],
};

function isIterable(source: unknown): source is AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  if (!isRecord(source) && !Array.isArray(source)) return false;
  return [Symbol.asyncIterator, Symbol.iterator].some(
    (each) => typeof (source as Record<symbol, unknown>)[each] === "function",
  );
}

async function readChunks(
  name: string,
  next: () => Promise<Uint8Array | undefined>,
  keepDamaged: boolean,
): Promise<Trace> {
  const decoder = new TraceDecoder(name, keepDamaged);
  let chunk = await next();
  while (chunk?.length === 0) chunk = await next();
  if (chunk !== undefined && isGzip(chunk)) {
    // The chunks are kept because incomplete data has to be decompressed again by the slower decompressor.
    const kept: Uint8Array[] = [];
    const keep = async (): Promise<Uint8Array | undefined> => {
      const compressed = chunk?.slice();
      if (compressed === undefined) return undefined;
      kept.push(compressed);
      chunk = await next();
      return compressed;
    };
    if ((await gunzipByPlatform(keep, (bytes) => decoder.push(bytes))) !== "unsound") return decoder.end("whole");
    while ((await keep()) !== undefined);
    return parseGzip(name, kept, keepDamaged);
  }
  for (; chunk !== undefined && decoder.push(chunk); chunk = await next());
  return decoder.end();
}

/**
 * Reads a trace like {@link readTrace}, but synchronously, from a complete file in memory.
 *
 * @throws RematError with the codes of {@link readTrace}
 */
export function parseTrace(
  bytes: Uint8Array | string,
  options: Pick<ReadTraceOptions, "name" | "damaged"> = {},
): Trace {
  const name = options.name ?? "trace";
  const keepDamaged = options.damaged === "keep";
  checkArgument(
    typeof bytes === "string" || bytes instanceof Uint8Array,
    "parseTrace's bytes",
    bytes,
    "those of a trace, a Uint8Array, or its text",
  );
  const whole = typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes;
  const step = 1 << 20;
  const pieces: Uint8Array[] = [];
  for (let i = 0; i < whole.length; i += step) pieces.push(whole.subarray(i, i + step));
  if (isGzip(whole)) return parseGzip(name, pieces, keepDamaged);
  const decoder = new TraceDecoder(name, keepDamaged);
  pieces.every((piece) => decoder.push(piece));
  return decoder.end();
}

function parseGzip(name: string, pieces: readonly Uint8Array[], keepDamaged: boolean): Trace {
  const decoder = new TraceDecoder(name, keepDamaged);
  let state: GzipState;
  try {
    state = gunzip(pieces, (bytes) => decoder.push(bytes));
  } catch (error) {
    if (error instanceof RematError) throw error;
    decoder.stop(decoder.damagedGzip((error as Error).message, error));
    return decoder.end();
  }
  return decoder.end(state);
}
