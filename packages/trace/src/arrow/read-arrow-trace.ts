import { checkArgument, checkCallOptions, isRecord, isText } from "../check-argument.js";
import { isGzip } from "../gunzip.js";
import { isArrow } from "../is-arrow.js";
import { isTooDeep } from "../parse-json-text.js";
import type { TraceRecord } from "../record-fields.js";
import { RematError } from "../remat-error.js";
import { Trace, type TraceHeader } from "../trace.js";
import { traceFormatVersion } from "../trace-encoder.js";
import { excerpt, TraceFieldError } from "../trace-field-error.js";
import { readHeader } from "../trace-header.js";
import type { ArrowColumn } from "./arrow-column.js";
import { ArrowError } from "./arrow-error.js";
import { checkOrder } from "./check-order.js";
import { type ColumnKind, type DecodingRun, RowError } from "./column-kind.js";
import { FaultyTable } from "./faulty-table.js";
import { gunzipWhole } from "./gunzip-whole.js";
import { type IpcFile, isCutShort, readIpc } from "./read-ipc.js";
import type { RunTables, TableName } from "./run-tables.js";
import { CellError, checkType, rowCount } from "./table.js";
import { distinctText, optionalText } from "./text-kinds.js";
import { assembleTrace, type TraceColumns } from "./trace-columns.js";
import { traceTables } from "./trace-tables.js";
import { decodeTexts } from "./utf8-column.js";

/**
 * Reads a trace from the bytes of an Arrow IPC file, gzipped or not. The columns of the trace are views of `bytes`
 * where possible, so the bytes must not be changed afterwards. A file that ends early is rejected.
 *
 * @throws RematError `TRACE_NOT_A_TRACE`, `TRACE_VERSION`, `TRACE_CUT_SHORT`, `TRACE_CORRUPT` (with table, row and
 * field), `ARGUMENT`
 * @example
 * const trace = readArrowTrace(await readFile("run.arrow"), { name: "run.arrow" });
 */
export function readArrowTrace(bytes: Uint8Array, options: { readonly name?: string } = {}): Trace {
  checkArgument(bytes instanceof Uint8Array, "readArrowTrace's bytes", bytes, "those of a trace, a Uint8Array");
  checkCallOptions("readArrowTrace", options, { name: [isText, "the file's name, for errors"] });
  const { name = "trace" } = options;
  const plain = isGzip(bytes) ? gunzipWhole(bytes, name) : bytes;
  if (!isArrow(plain)) throw notATrace(name, "it is not an Arrow IPC file");
  if (isCutShort(plain)) throw cutShort(name);
  try {
    return readRuns(readIpc(plain), name);
  } catch (error) {
    if (error instanceof ArrowError) throw corrupt(name, error.message, error);
    // An offset in the metadata leads out of the file.
    if (error instanceof RangeError) throw corrupt(name, `its metadata is damaged (${error.message})`, error);
    throw error;
  }
}

function readRuns(file: IpcFile, name: string): Trace {
  if (file.metadata.get("remat") !== "trace") throw notATrace(name, 'the metadata of its schema has no remat="trace"');
  const version = file.metadata.get("version");
  if (version !== String(traceFormatVersion))
    throw new RematError(
      "TRACE_VERSION",
      `${name}: trace format version ${excerpt(version)}, but this version of remat reads ${traceFormatVersion}. Use the version that wrote it, or record it again.`,
    );
  const [first, ...others] = file.batches();
  if (first === undefined) throw new ArrowError("it has no run");
  const reader = new RunReader(file, name);
  const { parts } = reader.read(first, 0);
  const runs = others.map((columns, i) => reader.read(columns, i + 1));
  const recordedIn = new Map(runs.map(({ dtype, parts: each }) => [dtype ?? "", new Trace(each)]));
  return new Trace({ ...parts, recordedIn });
}

/** Reads the runs of a file, one record batch each. */
class RunReader {
  private readonly file: IpcFile;
  private readonly name: string;
  private readonly dictionaries = new Map<number, readonly string[]>();

  constructor(file: IpcFile, name: string) {
    this.file = file;
    this.name = name;
  }

  read(columns: readonly ArrowColumn[], index: number): { dtype: string | undefined; parts: TraceColumns } {
    const place = index === 0 ? this.name : `${this.name} run ${index + 1}`;
    const column = (name: string): ArrowColumn => {
      const found = columns.find(({ field }) => field.name === name);
      if (found === undefined) throw new ArrowError(`it has no column '${name}'`);
      return found;
    };
    try {
      const header = this.header(textOf(column("header"), "header", distinctText));
      const dtype = textOf(column("dtype"), "dtype", optionalText);
      const truncated = readTruncated(textOf(column("truncated"), "truncated", optionalText));
      const counts = this.counts(column);
      const strings = new Strings();
      const run: DecodingRun = { counts, string: (text) => strings.id(text), dictionary: (each) => this.texts(each) };
      const decode = <Name extends TableName>(table: Name): RunTables[Name] =>
        inTable(table, () => traceTables[table].decode(column(table), run));
      const parts = assembleTrace(decode, { header, truncated, string: run.string, strings: strings.all });
      checkOrder(parts);
      return { dtype, parts };
    } catch (error) {
      if (error instanceof FaultyTable) throw corrupt(`${place}, ${error.place}`, error.message, error);
      if (error instanceof TraceFieldError) throw corrupt(`${place}, field '${error.field}'`, error.detail, error);
      throw error;
    }
  }

  private header(json: string | undefined): TraceHeader {
    return readHeader(parseObject("header", json));
  }

  private counts(column: (name: string) => ArrowColumn): Record<TableName, number> {
    const names = Object.keys(traceTables) as TableName[];
    return Object.fromEntries(
      names.map((name) => {
        const found = column(name);
        if (found.field.type.kind !== "list" || found.field.type.item.type.kind !== "struct")
          throw new ArrowError(`its column '${name}' is not a list of structs`);
        return [name, rowCount(found)];
      }),
    ) as Record<TableName, number>;
  }

  private texts(column: ArrowColumn): readonly string[] {
    const id = column.field.dictionary!;
    let texts = this.dictionaries.get(id);
    if (texts === undefined) {
      texts = this.file.dictionary(id).flatMap((part) => decodeTexts(part).map((text) => text ?? ""));
      this.dictionaries.set(id, texts);
    }
    return texts;
  }
}

/** The strings of a trace, each of them once. */
class Strings {
  readonly all: string[] = [];
  private readonly ids = new Map<string, number>();

  id(text: string): number {
    let id = this.ids.get(text);
    if (id === undefined) {
      id = this.all.push(text) - 1;
      this.ids.set(text, id);
    }
    return id;
  }
}

function inTable<T>(name: TableName, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof CellError)) throw error;
    throw new FaultyTable(name, error.row, error.field, error.message, { cause: error });
  }
}

function textOf<T extends string | undefined>(column: ArrowColumn, name: string, kind: ColumnKind<readonly T[]>): T {
  try {
    checkType(column, kind.field);
    const none = (): never => {
      throw new ArrowError("it has no dictionary");
    };
    const texts = kind.decode(column, { counts: {} as DecodingRun["counts"], string: none, dictionary: none });
    if (texts.length !== 1) throw new ArrowError(`expected one run in each record batch, found ${texts.length}`);
    return texts[0];
  } catch (error) {
    if (error instanceof ArrowError || error instanceof RowError) throw new TraceFieldError(name, error.message);
    throw error;
  }
}

function readTruncated(json: string | undefined): Trace["truncated"] {
  if (json === undefined) return undefined;
  const { line, reason } = parseObject("truncated", json);
  if (typeof line !== "number" || !(line >= 0) || typeof reason !== "string")
    throw new TraceFieldError("truncated", `expected a line and a reason, found ${excerpt(json)}`);
  return { line, reason };
}

function parseObject(field: string, json: string | undefined): TraceRecord {
  let value: unknown;
  try {
    if (json !== undefined && !isTooDeep(json)) value = JSON.parse(json);
  } catch {
    // Reported below.
  }
  if (!isRecord(value) || Array.isArray(value))
    throw new TraceFieldError(field, `expected a JSON object, found ${excerpt(json)}`);
  return value;
}

const corrupt = (place: string, detail: string, cause: unknown): RematError =>
  new RematError("TRACE_CORRUPT", `${place}: ${detail}. Record the trace again.`, { cause });

const notATrace = (name: string, found: string): RematError =>
  new RematError(
    "TRACE_NOT_A_TRACE",
    `${name}: not a remat trace: ${found}. Use a file written by \`remat … --trace\`.`,
  );

const cutShort = (name: string): RematError =>
  new RematError(
    "TRACE_CUT_SHORT",
    `${name}: the file ends early, because writing or copying was stopped or the disk was full. No part of an Arrow file can be read without its end. Copy or write it again.`,
  );
