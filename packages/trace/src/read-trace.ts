import { Gunzip } from "fflate";
import { RematError } from "./remat-error.js";
import type { Trace, TraceHeader } from "./trace.js";
import { type OpRecord, TraceBuilder, TraceFieldError } from "./trace-builder.js";
import { Category, FsdpHook, OpFlag, Phase, RuntimeSource, SavedAs } from "./vocabulary.js";
import { traceFormatVersion } from "./write-trace.js";

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
  const decoder = new TraceDecoder(options.name ?? "trace");
  let bytesRead = 0;
  for await (const chunk of source) {
    decoder.push(chunk);
    bytesRead += chunk.length;
    options.onProgress?.(bytesRead);
  }
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

type Json = Record<string, unknown>;

class TraceDecoder {
  private readonly name: string;
  private readonly utf8 = new TextDecoder();
  private gunzip: Gunzip | undefined;
  private first = true;
  private rest = "";
  /** Lines that have been taken in. */
  private line = 0;
  private builder: TraceBuilder | undefined;
  private ended = false;
  private gzipEnded = true;
  private events = 0;

  constructor(name: string) {
    this.name = name;
  }

  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    if (this.first) {
      this.first = false;
      if (chunk[0] === 0x1f && (chunk.length < 2 || chunk[1] === 0x8b)) {
        this.gzipEnded = false;
        this.gunzip = new Gunzip((data, final) => {
          this.gzipEnded = final;
          this.text(this.utf8.decode(data, { stream: true }));
        });
      }
    }
    if (this.gunzip === undefined) return this.text(this.utf8.decode(chunk, { stream: true }));
    try {
      this.gunzip.push(chunk);
    } catch (cause) {
      if (cause instanceof RematError) throw cause;
      throw new RematError(
        "TRACE_CORRUPT",
        `${this.name}: the gzip data is damaged after line ${this.line} (${String((cause as Error).message)}). Write the trace again.`,
        { cause },
      );
    }
  }

  end(): Trace {
    this.text(this.utf8.decode());
    let reason: string | undefined;
    if (this.rest.trim() !== "") {
      // A last line without its line end is a whole record only if it is the end record or parses as one.
      const last = tryParse(this.rest);
      if (last !== undefined) {
        this.line++;
        this.record(last, this.line);
      } else reason = "the last line breaks off";
    }
    if (this.builder === undefined) {
      throw new RematError(
        "TRACE_NOT_A_TRACE",
        `${this.name}: not a remat trace: ${this.rest === "" ? "the file is empty" : "its first line is not a whole header"}. Expected a file written by \`remat … --trace\`.`,
      );
    }
    if (!this.ended) reason ??= this.gzipEnded ? "there is no end record" : "the gzip data breaks off";
    return this.builder.build(reason === undefined ? undefined : { line: this.line, reason });
  }

  private text(text: string): void {
    const cut = text.lastIndexOf("\n");
    if (cut < 0) {
      this.rest += text;
      return;
    }
    const lines = (this.rest + text.slice(0, cut)).split("\n");
    this.rest = text.slice(cut + 1);
    let start = 0;
    if (this.builder === undefined) {
      this.record(this.parseLine(lines[0], 1), ++this.line);
      start = 1;
    }
    if (start === lines.length) return;
    // One call of JSON.parse for many lines is several times faster than one for each.
    let records: unknown[] | undefined;
    try {
      records = JSON.parse(`[${(start === 0 ? lines : lines.slice(start)).join(",")}]`) as unknown[];
    } catch {}
    if (records?.length !== lines.length - start)
      records = lines.slice(start).map((line, i) => this.parseLine(line, this.line + i + 1));
    for (const record of records) this.record(record, ++this.line);
  }

  private parseLine(line: string, number: number): unknown {
    const parsed = tryParse(line);
    if (parsed === undefined)
      throw number === 1
        ? new RematError(
            "TRACE_NOT_A_TRACE",
            `${this.name}: not a remat trace: its first line is not JSON. Expected a file written by \`remat … --trace\`.`,
          )
        : new RematError(
            "TRACE_CORRUPT",
            `${this.name} line ${number}: not JSON: ${excerpt(line)}. Remove the line, or write the trace again.`,
          );
    return parsed;
  }

  private record(record: unknown, line: number): void {
    try {
      if (typeof record !== "object" || record === null || Array.isArray(record))
        throw new TraceFieldError("t", `expected an object, found ${excerpt(JSON.stringify(record))}`);
      if (this.builder === undefined) this.builder = new TraceBuilder(readHeader(record as Json, this.name));
      else if (this.ended) throw new TraceFieldError("t", "found a record after the end record");
      else this.observe(this.builder, record as Json);
    } catch (error) {
      if (!(error instanceof TraceFieldError)) throw error;
      throw new RematError(
        "TRACE_CORRUPT",
        `${this.name} line ${line}, field '${error.field}': ${error.detail}. Remove the line and all that follow to read what came before, or write the trace again.`,
        { cause: error },
      );
    }
  }

  private observe(b: TraceBuilder, r: Json): void {
    this.events++;
    switch (r["t"]) {
      case "op":
        expectId(r, b.opCount);
        b.op(readOp(b, r));
        break;
      case "tensor": {
        this.events--;
        expectId(r, b.tensorCount);
        const strides = r["strides"] === undefined ? undefined : integers(r, "strides");
        b.tensor({
          storage: typeof r["s"] === "number" ? r["s"] : integers(r, "s"),
          dtype: text(r, "dtype"),
          shape: integers(r, "shape"),
          strides,
        });
        break;
      }
      case "alloc":
        if (r["s"] !== b.storageCount)
          throw new TraceFieldError(
            "s",
            `expected the next storage ${b.storageCount}, found ${excerpt(JSON.stringify(r["s"]))}`,
          );
        b.allocate(number(r, "bytes"), text(r, "device"), oneOf(r, "category", Category));
        break;
      case "free": {
        const freed = integers(r, "s");
        this.events += freed.length - 1;
        for (const storage of freed) b.free(storage);
        break;
      }
      case "enter":
        b.enterModule(number(r, "call"), oneOf(r, "phase", Phase), integers(r, "tensors"));
        break;
      case "exit":
        b.exitModule(number(r, "call"), oneOf(r, "phase", Phase), integers(r, "tensors"));
        break;
      case "save":
        b.save(number(r, "s"), number(r, "op"), oneOf(r, "as", SavedAs), number(r, "tensor"));
        break;
      case "category":
        b.categorize(number(r, "s"), oneOf(r, "category", Category));
        break;
      case "resize":
        b.resize(number(r, "s"), number(r, "bytes"));
        break;
      case "module":
        this.events--;
        expectId(r, b.moduleCount);
        b.module({ fqn: text(r, "fqn"), kind: text(r, "kind"), leaf: bool(r, "leaf") });
        break;
      case "weights":
        this.events--;
        b.moduleWeights(number(r, "module"), integers(r, "parameters"), integers(r, "buffers"));
        break;
      case "call":
        this.events--;
        expectId(r, b.callCount);
        b.call(number(r, "module"), number(r, "parent"), bool(r, "tensorInput"));
        break;
      case "scope":
        this.events--;
        expectId(r, b.scopeCount);
        b.scope(text(r, "name"), number(r, "parent"));
        break;
      case "enterScope":
        b.enterScope(number(r, "scope"));
        break;
      case "exitScope":
        b.exitScope(number(r, "scope"));
        break;
      case "mark":
        b.mark(text(r, "name"));
        break;
      case "fsdp":
        b.fsdpHook(number(r, "call"), oneOf(r, "phase", Phase), oneOf(r, "hook", FsdpHook));
        break;
      case "end":
        this.events--;
        if (r["events"] !== this.events)
          throw new TraceFieldError(
            "events",
            `expected ${this.events}, the number of events in the file, found ${excerpt(JSON.stringify(r["events"]))}`,
          );
        this.ended = true;
        break;
      default:
        throw new TraceFieldError("t", `expected a known record type, found ${excerpt(JSON.stringify(r["t"]))}`);
    }
  }
}

function readHeader(r: Json, name: string): TraceHeader {
  if (r["remat"] !== "trace")
    throw new RematError(
      "TRACE_NOT_A_TRACE",
      `${name}: not a remat trace: its first line has no "remat":"trace". Expected a file written by \`remat … --trace\`.`,
    );
  if (r["version"] !== traceFormatVersion)
    throw new RematError(
      "TRACE_VERSION",
      `${name}: trace format version ${excerpt(JSON.stringify(r["version"]))}, but this remat reads version ${traceFormatVersion}. Use the remat that wrote it, or write it again.`,
    );
  const { remat: _, version: __, ...header } = r;
  text(r, "framework");
  text(r, "device");
  if (r["mode"] !== "fake" && r["mode"] !== "real")
    throw new TraceFieldError("mode", `expected "fake" or "real", found ${excerpt(JSON.stringify(r["mode"]))}`);
  if (!(number(r, "allocationUnitBytes") >= 1))
    throw new TraceFieldError("allocationUnitBytes", `expected at least 1, found ${r["allocationUnitBytes"]}`);
  return header as unknown as TraceHeader;
}

function readOp(b: TraceBuilder, r: Json): OpRecord {
  const attrs = r["attrs"];
  if (attrs !== undefined && (typeof attrs !== "object" || attrs === null))
    throw new TraceFieldError("attrs", `expected an object, found ${excerpt(JSON.stringify(attrs))}`);
  let flags = 0;
  if (r["flags"] !== undefined) {
    if (!Array.isArray(r["flags"])) throw new TraceFieldError("flags", "expected a list of names");
    for (const name of r["flags"]) {
      const bit = (OpFlag as Record<string, number>)[name as string];
      if (bit === undefined)
        throw new TraceFieldError(
          "flags",
          `expected any of ${Object.keys(OpFlag).join(", ")}, found ${excerpt(JSON.stringify(name))}`,
        );
      flags |= bit;
    }
  }
  const optional = (field: string, missing: number): number => (r[field] === undefined ? missing : number(r, field));
  let stack = 0;
  if (r["stack"] !== undefined) stack = b.stack(integers(r, "stack"));
  else if (r["call"] !== undefined) {
    const call = number(r, "call");
    if (!(call >= 0 && call < b.callCount))
      throw new TraceFieldError("call", `expected a call below ${b.callCount}, found ${call}`);
    stack = b.stackOfCall(call);
  }
  return {
    name: text(r, "name"),
    phase: oneOf(r, "phase", Phase),
    flags,
    stack,
    scope: optional("scope", -1),
    forwardOp: optional("forwardOp", -1),
    forwardScope: optional("forwardScope", -1),
    inputs: integers(r, "in"),
    outputs: integers(r, "out"),
    attributes: attrs as Json | undefined,
    runtimeMs: optional("ms", 0),
    runtimeSource: r["source"] === undefined ? RuntimeSource.none : oneOf(r, "source", RuntimeSource),
    runtimeSpreadMs: optional("spreadMs", Number.NaN),
    runtimeRuns: optional("runs", 0),
    flops: optional("flops", Number.NaN),
    bytesRead: optional("read", Number.NaN),
    bytesWritten: optional("written", Number.NaN),
  };
}

function expectId(r: Json, expected: number): void {
  if (r["id"] !== expected)
    throw new TraceFieldError(
      "id",
      `expected ${expected}, the next of its kind, found ${excerpt(JSON.stringify(r["id"]))}`,
    );
}

function number(r: Json, field: string): number {
  const value = r[field];
  if (typeof value !== "number")
    throw new TraceFieldError(field, `expected a number, found ${excerpt(JSON.stringify(value))}`);
  return value;
}

function text(r: Json, field: string): string {
  const value = r[field];
  if (typeof value !== "string")
    throw new TraceFieldError(field, `expected a string, found ${excerpt(JSON.stringify(value))}`);
  return value;
}

function bool(r: Json, field: string): boolean {
  const value = r[field];
  if (typeof value !== "boolean")
    throw new TraceFieldError(field, `expected true or false, found ${excerpt(JSON.stringify(value))}`);
  return value;
}

function integers(r: Json, field: string): number[] {
  const value = r[field];
  if (!Array.isArray(value))
    throw new TraceFieldError(field, `expected a list of integers, found ${excerpt(JSON.stringify(value))}`);
  for (let i = 0; i < value.length; i++)
    if (!Number.isInteger(value[i]))
      throw new TraceFieldError(field, `expected integers, found ${excerpt(JSON.stringify(value[i]))} at ${i}`);
  return value as number[];
}

function oneOf(r: Json, field: string, table: Readonly<Record<string, number>>): number {
  const value = r[field];
  if (typeof value !== "string" || !Object.hasOwn(table, value))
    throw new TraceFieldError(
      field,
      `expected one of ${Object.keys(table).join(", ")}, found ${excerpt(JSON.stringify(value))}`,
    );
  return table[value];
}

function tryParse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function excerpt(text: string | undefined): string {
  if (text === undefined) return "nothing";
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`;
}
