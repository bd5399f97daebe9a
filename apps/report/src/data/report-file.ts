import { parseJsonText, RematError, type Trace } from "@remat/trace";
import { type ColumnArray, type PackedColumn, packColumn, unpackColumn } from "./column-codec.js";
import type { ReportMeta } from "./report-meta.js";
import { columnsOfTrace, type TraceRest, traceOfColumns } from "./trace-columns.js";

/** Version of the data block's format. */
export const reportFormat = "remat-report/2";

/** Content of a report. */
export interface ReportData {
  /** Everything except the trace and the columns below. */
  readonly meta: ReportMeta;
  /** The run that the report shows. */
  readonly trace: Trace;
  /**
   * For each of `meta.overlays`: at each op of the trace, the most bytes in use since the previous op. NaN: no value.
   */
  readonly overlays: readonly Float64Array[];
  /** For each of `meta.followed`. */
  readonly followed: readonly FollowedColumns[];
  /** The step as plans run it, if its ops differ. `followed` refers to it. */
  readonly planned: PlannedStep | undefined;
}

/** A step that is planned but not shown. */
export interface PlannedStep {
  readonly trace: Trace;
  /** For each op that is shown: see `matchOps`. */
  readonly match: Int32Array;
}

/** A plan in columns: the order to compute its memory from, and its effect on ops. */
export interface FollowedColumns {
  /** Nodes of `sequenceGraphOfTrace` in execution order, or empty if the plan's memory does not follow from that. */
  readonly sequence: Int32Array;
  /** For each op: see `planFates`. */
  readonly fates: Uint8Array;
}

/** Prefix of the column names of the step as plans run it. */
const plannedPrefix = "planned.";

interface Head {
  readonly format: typeof reportFormat;
  readonly meta: ReportMeta;
  readonly trace: TraceRest;
  readonly planned?: TraceRest;
  readonly columns: readonly PackedColumn[];
}

/**
 * Encodes data as bytes, ready to be compressed: the length of a JSON text as 4 bytes (little-endian), the text in
 * UTF-8, then the bytes of each column listed in its `columns`, one after the other.
 */
export function encodeReport({ meta, trace, overlays, followed, planned }: ReportData): Uint8Array {
  const { columns, rest } = columnsOfTrace(trace);
  const all = new Map<string, ColumnArray>(columns);
  for (const [i, overlay] of overlays.entries()) all.set(`overlay.${i}`, overlay);
  for (const [i, { sequence, fates }] of followed.entries())
    all.set(`followed.${i}.sequence`, sequence).set(`followed.${i}.fates`, fates);
  const other = planned && columnsOfTrace(planned.trace);
  for (const [name, values] of other?.columns ?? []) all.set(plannedPrefix + name, values);
  if (planned !== undefined) all.set("match", planned.match);
  const packed = Array.from(all, ([name, values]) => packColumn(name, values));
  const head: Head = {
    ...{ format: reportFormat, meta, trace: rest },
    ...(other && { planned: other.rest }),
    columns: packed.map(({ column }) => column),
  };
  const json = new TextEncoder().encode(JSON.stringify(head));
  const out = new Uint8Array(packed.reduce((sum, { bytes }) => sum + bytes.length, 4 + json.length));
  new DataView(out.buffer).setUint32(0, json.length, true);
  out.set(json, 4);
  let at = 4 + json.length;
  for (const { bytes } of packed) {
    out.set(bytes, at);
    at += bytes.length;
  }
  return out;
}

/**
 * Reads the output of {@link encodeReport}.
 *
 * @throws RematError `REPORT_DATA` for invalid data, or another version
 */
export function decodeReport(bytes: Uint8Array): ReportData {
  const head = readHead(bytes);
  const columns = new Map<string, ColumnArray>();
  const planned = new Map<string, ColumnArray>();
  let at = 4 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  for (const column of head.columns) {
    const length = column.planes * column.count;
    const values = unpackColumn(column, bytes.subarray(at, at + length));
    if (column.name.startsWith(plannedPrefix)) planned.set(column.name.slice(plannedPrefix.length), values);
    else columns.set(column.name, values);
    at += length;
  }
  const overlays = head.meta.overlays.map((_, i) => columns.get(`overlay.${i}`) as Float64Array);
  const followed = head.meta.followed.map((_, i) => ({
    sequence: columns.get(`followed.${i}.sequence`) as Int32Array,
    fates: columns.get(`followed.${i}.fates`) as Uint8Array,
  }));
  return {
    meta: head.meta,
    trace: traceOfColumns({ columns, rest: head.trace }),
    overlays,
    followed,
    planned: head.planned && {
      trace: traceOfColumns({ columns: planned, rest: head.planned }),
      match: columns.get("match") as Int32Array,
    },
  };
}

function readHead(bytes: Uint8Array): Head {
  let head: Head | undefined;
  if (bytes.length >= 4) {
    const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
    try {
      head = parseJsonText(new TextDecoder().decode(bytes.subarray(4, 4 + length))) as Head;
    } catch (cause) {
      throw new RematError(
        "REPORT_DATA",
        "report: the data does not begin with its description, so it is damaged. Create the report again.",
        {
          cause,
        },
      );
    }
  }
  if (head?.format !== reportFormat)
    throw new RematError(
      "REPORT_DATA",
      `report: expected data of format ${reportFormat}, found ${JSON.stringify(head?.format ?? null)}. ` +
        "Open it with the remat version that wrote it, or create it again.",
    );
  return head;
}
