import { type StorageIndex, type TensorIndex } from "../index-types.js";
import { row, type Scope, type TraceParts } from "../trace.js";
import { EventKind } from "../vocabulary.js";
import type { RunTables, ScopeColumns, SharedTensorColumns, TableName } from "./run-tables.js";

/** The parts of one run, before it becomes a `Trace`. */
export type TraceColumns = Omit<TraceParts, "recordedIn">;

interface RunFacts extends Pick<TraceColumns, "header" | "strings" | "truncated"> {
  readonly string: (text: string) => number;
}

/**
 * Reads the tables of a run and returns them as the parts of a trace.
 *
 * @param decode reads a table
 */
export function assembleTrace(
  decode: <Name extends TableName>(name: Name) => RunTables[Name],
  { header, truncated, string, strings }: RunFacts,
): TraceColumns {
  const { fqn, kind, leaf, count: moduleCount } = decode("modules");
  const marks = decode("marks");
  const shared = decode("sharedTensors");
  return {
    header,
    truncated,
    ops: decode("ops"),
    storages: decode("storages"),
    tensors: { ...decode("tensors"), moreStorages: moreStorages(shared) },
    events: withMarks(decode("events"), marks.name.map(string)),
    modules: Array.from({ length: moduleCount }, (_, i) => ({ fqn: fqn[i], kind: kind[i], leaf: leaf[i] === 1 })),
    calls: decode("calls"),
    stacks: decode("stacks").calls,
    scopes: scopesOf(decode("scopes")),
    moduleEvents: decode("moduleEvents"),
    saves: decode("saves"),
    weights: decode("weights"),
    // Filled by the tables above.
    strings,
  };
}

function moreStorages({
  count,
  tensor,
  storages,
}: SharedTensorColumns): ReadonlyMap<TensorIndex, readonly StorageIndex[]> {
  return new Map(Array.from({ length: count }, (_, i) => [tensor[i], Array.from(row(storages, i))]));
}

/** Returns the events with the names of marks as strings of the trace. `strings` has these, by number of the mark. */
function withMarks(events: TraceColumns["events"], strings: readonly number[]): TraceColumns["events"] {
  if (strings.length === 0) return events;
  const subject = events.subject.slice();
  for (let event = 0; event < events.count; event++)
    if (events.kind[event] === EventKind.mark) subject[event] = strings[subject[event]] ?? -1;
  return { ...events, subject };
}

function scopesOf({ count, name, parent, checkpoint, line, given, returned }: ScopeColumns): readonly Scope[] {
  return Array.from({ length: count }, (_, i): Scope => {
    const [form, place, inputs, outputs] = [checkpoint[i], line[i], given[i], returned[i]];
    return {
      name: name[i],
      parent: parent[i],
      ...(form !== undefined && { checkpoint: form }),
      ...(place !== undefined && { line: place }),
      ...(inputs !== undefined && { given: inputs }),
      ...(outputs !== undefined && { returned: outputs }),
    };
  });
}
