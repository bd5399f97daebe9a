import { checkArgument, checkCallOptions, isFlag } from "../check-argument.js";
import { isTrace } from "../is-trace.js";
import type { Trace } from "../trace.js";
import { traceFormatVersion } from "../trace-encoder.js";
import { EventKind } from "../vocabulary.js";
import type { ColumnKind, DictionaryWriter, EncodingRun } from "./column-kind.js";
import { zstdCompressor } from "./compression.js";
import type { ColumnData, WrittenField } from "./ipc-content.js";
import type { RunTables, SharedTensorColumns } from "./run-tables.js";
import { type Table } from "./table.js";
import { distinctText, optionalText } from "./text-kinds.js";
import { traceTables } from "./trace-tables.js";
import { encodeTexts } from "./utf8-column.js";
import { writeIpc } from "./write-ipc.js";

/**
 * Writes a trace as an Arrow IPC file (`.arrow`), in chunks. The file is compressed with zstd if the platform has it
 * (Node 22.15 or newer), unless `compress` is false.
 *
 * @throws RematError `ARGUMENT`, also if `compress` is true and the platform has no zstd
 * @example
 * for (const chunk of writeArrowTrace(trace)) file.write(chunk);
 */
export function writeArrowTrace(
  trace: Trace,
  options: { compress?: boolean } = {},
): Generator<Uint8Array, void, undefined> {
  checkArgument(isTrace(trace), "writeArrowTrace's trace", trace, "one, such as await record(step)");
  checkCallOptions("writeArrowTrace", options, { compress: [isFlag, "true or false"] });
  const compress = options.compress === false ? undefined : zstdCompressor();
  checkArgument(
    options.compress !== true || compress !== undefined,
    "writeArrowTrace's compress",
    true,
    "false or nothing, because this platform has no zstd",
  );
  return chunksOf(trace, compress);
}

function chunksOf(
  trace: Trace,
  compress: ((bytes: Uint8Array) => Uint8Array) | undefined,
): Generator<Uint8Array, void, undefined> {
  const dictionaries = new Dictionaries();
  const fields = fieldsOf(dictionaries);
  const runs: [string | undefined, Trace][] = [[undefined, trace]];
  for (const [dtype, run] of trace.recordedIn) if (run.truncated === undefined) runs.push([dtype, run]);
  const batches = runs.map(([dtype, run]) => batchOf(run, dtype, dictionaries));
  const metadata = { remat: "trace", version: String(traceFormatVersion) };
  return writeIpc({ metadata, fields, dictionaries: dictionaries.columns(), batches }, compress);
}

/** The dictionaries of a file. Each kind of column has its own. */
class Dictionaries {
  private readonly ids = new Map<object, number>();
  private readonly texts: string[][] = [];

  idOf(kind: ColumnKind<unknown>): number {
    let id = this.ids.get(kind);
    if (id === undefined) {
      id = this.texts.length;
      this.ids.set(kind, id);
      this.texts.push(Array.from(kind.dictionary!));
    }
    return id;
  }

  writer(kind: object): DictionaryWriter {
    const texts = this.texts[this.ids.get(kind)!];
    const places = new Map(texts.map((text, place) => [text, place]));
    return {
      place(text) {
        let place = places.get(text);
        if (place === undefined) {
          place = texts.push(text) - 1;
          places.set(text, place);
        }
        return place;
      },
    };
  }

  columns(): readonly ColumnData[] {
    return this.texts.map((texts) => encodeTexts(texts));
  }
}

/** Returns the columns of a file: one for each table, and the facts about a run. Each row is a run. */
function fieldsOf(dictionaries: Dictionaries): readonly WrittenField[] {
  const fieldOf = (name: string, kind: ColumnKind<unknown>): WrittenField => ({
    name,
    ...kind.field,
    ...(kind.dictionary !== undefined && { dictionary: dictionaries.idOf(kind) }),
  });
  const tables = Object.entries(traceTables).map(([name, { kinds }]): WrittenField => {
    const fields = Object.entries(kinds).map(([column, kind]) => fieldOf(column, kind));
    return { name, type: { kind: "list", item: { name: "item", type: { kind: "struct", fields } } } };
  });
  return [
    fieldOf("header", distinctText),
    fieldOf("dtype", optionalText),
    fieldOf("truncated", optionalText),
    ...tables,
  ];
}

/** Returns the columns of the record batch of a run. */
function batchOf(trace: Trace, dtype: string | undefined, dictionaries: Dictionaries): readonly ColumnData[] {
  const run: EncodingRun = { strings: trace.strings, dictionary: (kind) => dictionaries.writer(kind) };
  const tables = tablesOf(trace);
  const truncated = trace.truncated && JSON.stringify(trace.truncated);
  return [
    encodeTexts([JSON.stringify(trace.header)]),
    encodeTexts([dtype]),
    encodeTexts([truncated]),
    ...Object.entries(traceTables).map(([name, each]) =>
      (each as Table<unknown>).encode(tables[name as keyof RunTables], run),
    ),
  ];
}

function tablesOf(trace: Trace): RunTables {
  const { ops, storages, tensors, modules, calls, stacks, scopes, moduleEvents, saves, weights } = trace;
  return {
    ops,
    storages,
    tensors,
    sharedTensors: sharedTensorsOf(trace),
    modules: {
      count: modules.length,
      fqn: modules.map(({ fqn }) => fqn),
      kind: modules.map(({ kind }) => kind),
      leaf: Uint8Array.from(modules, ({ leaf }) => (leaf ? 1 : 0)),
    },
    calls,
    stacks: { count: stacks.start.length - 1, calls: stacks },
    scopes: {
      count: scopes.length,
      name: scopes.map(({ name }) => name),
      parent: Int32Array.from(scopes, ({ parent }) => parent),
      checkpoint: scopes.map(({ checkpoint }) => checkpoint),
      line: scopes.map(({ line }) => line),
      given: scopes.map(({ given }) => given),
      returned: scopes.map(({ returned }) => returned),
    },
    moduleEvents,
    saves,
    weights,
    ...eventsOf(trace),
  };
}

function sharedTensorsOf({ tensors: { moreStorages } }: Trace): SharedTensorColumns {
  const start = new Int32Array(moreStorages.size + 1);
  const lists = Array.from(moreStorages.values());
  lists.forEach((list, row) => (start[row + 1] = start[row] + list.length));
  return {
    count: moreStorages.size,
    tensor: Int32Array.from(moreStorages.keys()),
    storages: { start, values: Int32Array.from(lists.flat()) },
  };
}

/** Returns the events and the names of marks. The subject of a mark is its name among these. */
function eventsOf({ events, strings }: Trace): Pick<RunTables, "events" | "marks"> {
  const { count, kind, subject } = events;
  if (!kind.includes(EventKind.mark)) return { events, marks: { count: 0, name: [] } };
  const places = new Map<number, number>();
  const subjects = subject.slice();
  for (let event = 0; event < count; event++) {
    if (kind[event] !== EventKind.mark) continue;
    const string = subject[event];
    if (!places.has(string)) places.set(string, places.size);
    subjects[event] = places.get(string)!;
  }
  const name = Array.from(places.keys(), (string) => strings[string]);
  return { events: { ...events, subject: subjects }, marks: { count: name.length, name } };
}
