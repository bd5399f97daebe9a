import { EventKind, RematError, type Rows, Trace, type TraceParts } from "@remat/trace";
import type { ColumnArray } from "./column-codec.js";

/** A trace as named columns, and the rest of it as plain data. */
export interface TraceColumns {
  readonly columns: ReadonlyMap<string, ColumnArray>;
  readonly rest: TraceRest;
}

/** The parts of a trace that are not columns. */
export interface TraceRest extends Pick<TraceParts, "header" | "strings" | "modules" | "scopes"> {
  readonly truncated?: TraceParts["truncated"];
  readonly counts: Readonly<Record<string, number>>;
  readonly moreStorages: readonly (readonly [number, readonly number[]])[];
}

const tables = ["calls", "weights", "ops", "storages", "tensors", "moduleEvents", "saves", "events"] as const;
type Table = (typeof tables)[number];

/** Takes a trace apart. Only the subjects of events are copied. */
export function columnsOfTrace(trace: Trace): TraceColumns {
  const columns = new Map<string, ColumnArray>();
  const counts: Record<string, number> = {};
  const rows = (name: string, { start, values }: Rows<Int32Array | Float64Array>): void => {
    columns.set(`${name}.start`, start).set(`${name}.values`, values);
  };
  rows("stacks", trace.stacks);
  for (const table of tables)
    for (const [field, value] of Object.entries(trace[table]) as [string, unknown][]) {
      const name = `${table}.${field}`;
      if (typeof value === "number") counts[name] = value;
      else if (ArrayBuffer.isView(value)) columns.set(name, value as ColumnArray);
      else if (!(value instanceof Map)) rows(name, value as Rows);
    }
  columns.set("events.subject", subjectsFrom(trace.events.kind, trace.events.subject, false));
  const { header, strings, modules, scopes, truncated } = trace;
  const moreStorages = [...trace.tensors.moreStorages];
  return { columns, rest: { header, strings, modules, scopes, ...(truncated && { truncated }), counts, moreStorages } };
}

/**
 * Reassembles a trace.
 *
 * @throws RematError `REPORT_DATA` if a column is missing
 */
export function traceOfColumns({ columns, rest }: TraceColumns): Trace {
  const grouped = new Map<string, Record<string, unknown>>(["stacks", ...tables].map((table) => [table, {}]));
  for (const [name, values] of columns) {
    const [table, field, part] = name.split(".");
    const group = grouped.get(table);
    if (group === undefined) continue;
    if (table === "stacks") group[field] = values;
    else if (part === undefined) group[field] = values;
    else group[field] = { ...(group[field] as object | undefined), [part]: values };
  }
  for (const [name, count] of Object.entries(rest.counts)) {
    const [table, field] = name.split(".");
    const group = grouped.get(table);
    if (group !== undefined) group[field] = count;
  }
  const of = <T extends Table | "stacks">(table: T): TraceParts[T] => grouped.get(table) as unknown as TraceParts[T];
  for (const name of ["ops.name", "ops.outputs.start", "storages.bytes", "events.kind", "events.subject"])
    if (!columns.has(name))
      throw new RematError("REPORT_DATA", `report: the data has no column ${name}. Create the report again.`);
  const events = of("events");
  return new Trace({
    ...rest,
    truncated: rest.truncated,
    stacks: of("stacks"),
    calls: of("calls"),
    weights: of("weights"),
    ops: of("ops"),
    storages: of("storages"),
    tensors: { ...of("tensors"), moreStorages: new Map(rest.moreStorages) },
    moduleEvents: of("moduleEvents"),
    saves: of("saves"),
    events: { ...events, subject: subjectsFrom(events.kind, events.subject, true) },
  });
}

/**
 * Converts subjects to differences from the last event of the same kind, and back. Ops, storages and rows are numbered
 * in order of appearance, so that most differences are 1.
 */
function subjectsFrom(kind: Uint8Array, subject: Int32Array, isBack: boolean): Int32Array {
  const last = new Int32Array(Object.keys(EventKind).length + 1);
  const out = new Int32Array(subject.length);
  for (let e = 0; e < subject.length; e++) {
    out[e] = isBack ? subject[e] + last[kind[e]] : subject[e] - last[kind[e]];
    last[kind[e]] = isBack ? out[e] : subject[e];
  }
  return out;
}
