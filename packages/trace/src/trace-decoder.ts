import type { GzipState } from "./gunzip.js";
import { isArrow } from "./is-arrow.js";
import type { TraceRecord } from "./record-fields.js";
import { LineError, RecordLines } from "./record-lines.js";
import { RecordReader } from "./record-reader.js";
import { RematError } from "./remat-error.js";
import { Trace, type TraceHeader } from "./trace.js";
import { TraceBuilder } from "./trace-builder.js";
import { traceFormatVersion } from "./trace-encoder.js";
import { excerpt, TraceFieldError } from "./trace-field-error.js";
import { readHeader } from "./trace-header.js";
import { cutReasons } from "./trace-notes.js";

/** Names of fields in the file, for fields with another name in the builder. */
const fileFields: ReadonlyMap<string, string> = new Map([
  ["storage", "s"],
  ["inputs", "in"],
  ["outputs", "out"],
  ["runtimeMs", "ms"],
  ["runtimeSource", "source"],
  ["runtimeSpreadMs", "spreadMs"],
  ["runtimeRuns", "runs"],
  ["bytesRead", "read"],
  ["bytesWritten", "written"],
]);

/** Decodes the decompressed bytes of a trace file into a trace. @internal */
export class TraceDecoder {
  private readonly name: string;
  private readonly lines: RecordLines;
  private readonly keepDamaged: boolean;
  private isStarted = false;
  private builder: TraceBuilder | undefined;
  private readonly recordedIn = new Map<string, Trace>();
  private records: RecordReader | undefined;
  /** The place where reading stopped, if damaged files are kept (`keepDamaged`). */
  private damage: { readonly line: number; readonly reason: string } | undefined;

  /**
   * @param name the name of the file, for errors
   * @param keepDamaged whether to keep the records before an invalid one as the trace, as if the file ended there
   */
  constructor(name: string, keepDamaged = false) {
    this.name = name;
    this.keepDamaged = keepDamaged;
    this.lines = new RecordLines((record, line) => this.record(record, line));
  }

  /** Decodes more bytes. Returns whether more bytes are wanted. None are wanted after damage that is kept. */
  push(chunk: Uint8Array): boolean {
    if (!this.isStarted && isArrow(chunk)) throw this.arrow();
    this.isStarted = true;
    this.attempt(() => this.lines.push(chunk));
    return this.damage === undefined;
  }

  /**
   * Ends decoding and returns the trace.
   *
   * @param gzip the state of the compressed data, if the file is compressed
   */
  end(gzip?: GzipState): Trace {
    const whole = this.attempt(() => this.lines.end()) ?? false;
    if (gzip === "damaged") this.stop(this.damagedGzip("its checksum does not match"));
    if (this.builder === undefined)
      throw this.cutBefore(
        whole && gzip !== "brokenOff" ? "the file is empty" : "its first line is not a whole header",
      );
    if (this.damage !== undefined) return this.builder.build(this.damage);
    if (this.records?.ended) return new Trace({ ...this.builder.build(), recordedIn: this.recordedIn });
    const reason = gzip === "brokenOff" ? cutReasons.gzip : whole ? cutReasons.record : cutReasons.line;
    return this.builder.build({ line: this.lines.line, reason });
  }

  /** Returns the error for compressed data that was changed after it was written. */
  damagedGzip(detail: string, cause?: unknown): RematError {
    return new RematError(
      "TRACE_CORRUPT",
      `${this.name}: the gzip data is damaged after line ${this.lines.line} or earlier (${detail}). Record the trace again.`,
      { cause },
    );
  }

  /** Ends the trace before the invalid record, or rejects the file, depending on `keepDamaged`. */
  stop(error: RematError): void {
    if (!this.keepDamaged || this.builder === undefined || error.code !== "TRACE_CORRUPT") throw error;
    // An invalid record has already been counted as a line, but a line that is not JSON has not.
    const line = error.cause instanceof TraceFieldError ? this.lines.line - 1 : this.lines.line;
    this.damage ??= { line, reason: error.message };
  }

  /** Runs `step` and adds the place in the file to its errors. Does nothing after damage that is kept. */
  private attempt<T>(step: () => T): T | undefined {
    if (this.damage !== undefined) return undefined;
    try {
      return step();
    } catch (error) {
      const told = error instanceof LineError ? this.notJson(error) : error;
      if (!(told instanceof RematError)) throw told;
      this.stop(told);
      return undefined;
    }
  }

  private record(record: unknown, line: number): void {
    try {
      if (this.records !== undefined) {
        this.records.apply(asRecord(record));
        for (const [dtype, run] of this.records.recordedIn) this.recordedIn.set(dtype, this.within(run));
        return;
      }
      this.builder = new TraceBuilder(this.header(asRecord(record)));
      this.records = new RecordReader(this.builder);
    } catch (error) {
      if (!(error instanceof TraceFieldError)) throw error;
      const field = error.field.replace(/(?<!\w)\w+$/, (name) => fileFields.get(name) ?? name);
      throw new RematError(
        "TRACE_CORRUPT",
        `${this.name} line ${line}, field '${field}': ${error.detail}. Record the trace again, or remove this line and all after it to read the part before.`,
        { cause: error },
      );
    }
  }

  /** Builds a trace from the records that are nested in the end record. */
  private within(records: readonly unknown[]): Trace {
    const [header, ...rest] = records;
    const builder = new TraceBuilder(this.header(asRecord(header)));
    const reader = new RecordReader(builder);
    for (const record of rest) reader.apply(asRecord(record));
    if (!reader.ended)
      throw new TraceFieldError("recordedIn", "expected an end record as the last of a list, found none");
    return builder.build();
  }

  private header(r: TraceRecord): TraceHeader {
    if (r["remat"] !== "trace") throw this.notATrace('its first line has no "remat":"trace"');
    if (r["version"] !== traceFormatVersion)
      throw new RematError(
        "TRACE_VERSION",
        `${this.name}: trace format version ${excerpt(r["version"])}, but this version of remat reads ${traceFormatVersion}. Use the version that wrote it, or record it again.`,
      );
    return readHeader(r);
  }

  private arrow(): RematError {
    return new RematError(
      "TRACE_NOT_A_TRACE",
      `${this.name}: an Arrow file, not JSON Lines. Read it with \`readArrowTrace\` of @remat/trace/arrow.`,
    );
  }

  private notATrace(found: string): RematError {
    return new RematError(
      "TRACE_NOT_A_TRACE",
      `${this.name}: not a remat trace: ${found}. Use a file written by \`remat … --trace\`.`,
    );
  }

  private cutBefore(found: string): RematError {
    return new RematError(
      "TRACE_NOT_A_TRACE",
      `${this.name}: not a remat trace: ${found}. Recording was probably stopped, or the disk was full. Record it again.`,
    );
  }

  private notJson(error: LineError): RematError {
    if (error.line === 1) return this.notATrace(`its first line is ${error.message}`);
    const found = error.text === undefined ? "" : `: ${excerpt(error.text)}`;
    return new RematError(
      "TRACE_CORRUPT",
      `${this.name} line ${error.line}: ${error.message}${found}. Record the trace again, or remove this line and all after it to read the part before.`,
      { cause: error },
    );
  }
}

function asRecord(record: unknown): TraceRecord {
  if (typeof record !== "object" || record === null || Array.isArray(record))
    throw new TraceFieldError("t", `expected an object, found ${excerpt(record)}`);
  return record as TraceRecord;
}
