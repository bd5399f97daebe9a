import { heldPeak, type MomentPlace, momentAt, peakMoment } from "@remat/memory";
import { Category, type CategoryName, EventKind, opEventPositions, row, type Trace } from "@remat/trace";
import { describe, expect, test } from "vitest";
import { labelCategory } from "../../src/category-colours.js";
import { largestTable } from "../../src/documents/largest-table.js";
import { goldenTrace } from "../golden-trace.js";

interface Alive {
  category: number;
  bytes: number;
  /** The next op when it was allocated. */
  readonly nextOp: number;
}

/** The storages of the trace's device that are alive after `end` events, by the columns alone. */
function aliveAfter(trace: Trace, end: number): ReadonlyMap<number, Alive> {
  const { events, storages, header } = trace;
  const rounded = (bytes: number): number => Math.ceil(bytes / header.allocationUnitBytes) * header.allocationUnitBytes;
  const alive = new Map<number, Alive>();
  let nextOp = 0;
  for (let event = 0; event < end; event++) {
    const storage = events.subject[event];
    switch (events.kind[event]) {
      case EventKind.op:
        nextOp = storage + 1;
        break;
      case EventKind.allocate:
        alive.set(storage, { category: storages.category[storage], bytes: rounded(storages.bytes[storage]), nextOp });
        break;
      case EventKind.free:
        alive.delete(storage);
        break;
      case EventKind.resize:
        if (alive.has(storage)) alive.get(storage)!.bytes = rounded(events.value[event]);
        break;
      case EventKind.categorize:
        if (alive.has(storage)) alive.get(storage)!.category = events.value[event];
        break;
    }
  }
  for (const [storage, { bytes }] of alive)
    if (trace.strings[storages.device[storage]] !== header.device || bytes === 0) alive.delete(storage);
  return alive;
}

const categoryOf = (category: number): CategoryName =>
  (Object.keys(Category) as CategoryName[]).find((name) => Category[name] === category)!;

/** The first tensor on a storage, by a search through all. */
const tensorOn = (trace: Trace, storage: number): number | undefined => {
  for (let tensor = 0; tensor < trace.tensors.count; tensor++)
    if (trace.tensorStorages(tensor).includes(storage)) return tensor;
  return undefined;
};

/** The module with the longest name that has a storage among its weights. */
function ownerOf(trace: Trace, storage: number): string | undefined {
  const { weights, modules } = trace;
  const owners: string[] = [];
  for (let i = 0; i < weights.count; i++)
    for (const tensors of [weights.parameters, weights.buffers])
      if (Array.from(row(tensors, i)).some((tensor) => trace.tensorStorages(tensor).includes(storage)))
        owners.push(modules[weights.module[i]].fqn);
  return owners.sort((a, b) => b.length - a.length)[0];
}

function expectedRows(trace: Trace, end: number, limit: number): readonly (readonly string[])[] {
  const alive = [...aliveAfter(trace, end)].sort(([a, x], [b, y]) => y.bytes - x.bytes || a - b);
  return alive.slice(0, limit).map(([storage, { bytes, category, nextOp }]) => {
    const tensor = tensorOn(trace, storage);
    const isMade =
      nextOp < trace.ops.count &&
      Array.from(trace.opOutputs(nextOp)).some((output) => trace.tensorStorages(output).includes(storage));
    const owner = ownerOf(trace, storage);
    const call = isMade ? Array.from(row(trace.stacks, trace.ops.stack[nextOp])).at(-1) : undefined;
    return [
      `${bytes} B`,
      labelCategory(categoryOf(category)),
      tensor === undefined ? "" : `${trace.tensorDtype(tensor)} [${trace.tensorShape(tensor).join(", ")}]`,
      isMade ? trace.strings[trace.ops.name[nextOp]] : owner === undefined ? "(no op)" : "(a weight)",
      isMade ? String(nextOp) : "",
      owner ?? (call === undefined ? "" : trace.modules[trace.calls.module[call]].fqn),
    ];
  });
}

const inBytes = (bytes: number): string => `${bytes} B`;

describe.each(["mem_02_transformer_adam", "mem_03_mlp_adam", "fsdp_tf_ws4_reshard1"])(
  "the largest storages of %s",
  (name) => {
    const trace = goldenTrace(name);
    const ops = [0, 0.1, 0.3, 0.5, 0.7, 0.9, 1].map((share) => Math.round(share * (trace.ops.count - 1)));

    test.each(ops)("are after op %i those that its columns show", (op) => {
      const end = opEventPositions(trace)[op] + 1;
      for (const limit of [1, 10, 150]) {
        const place: MomentPlace = { op };
        const { rows, title } = largestTable(momentAt(trace, place, { limit }), inBytes);
        expect(rows).toEqual(expectedRows(trace, end, limit));
        expect(title).toBe(`Largest of ${aliveAfter(trace, end).size} live storages`);
      }
    });

    test("are at the peak as much as the peak", () => {
      const moment = peakMoment(trace, { limit: Number.MAX_SAFE_INTEGER });
      const { rows } = largestTable(moment, inBytes);
      const sum = rows.reduce((total, [bytes]) => total + Number.parseInt(String(bytes), 10), 0);
      expect(sum).toBe(heldPeak(trace).peakBytes);
    });
  },
);
