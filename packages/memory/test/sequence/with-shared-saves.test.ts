import { Category, EventKind, Phase, SavedAs, TraceBuilder } from "@remat/trace";
import { expect, test } from "vitest";
import { withSharedSaves } from "../../src/sequence/with-shared-saves.js";

/** An op reads what the caller frees right after it, and what autograd copied of it is freed at the end. */
function savedByCopy(isCopyFreed: boolean) {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
  const original = b.allocate(8, "cpu", Category.input);
  const x = b.tensor({ storage: original, dtype: "float32", shape: [2] });
  const made = b.allocate(8, "cpu");
  const y = b.tensor({ storage: made, dtype: "float32", shape: [2] });
  const op = b.op({ name: "Square", phase: Phase.forward, inputs: [x], outputs: [y], runtimeMs: 1 });
  const copy = b.allocate(8, "cpu");
  b.save(copy, op, SavedAs.other, x);
  b.free(original);
  b.op({ name: "Mul", phase: Phase.backward, inputs: [y], outputs: [], runtimeMs: 1 });
  if (isCopyFreed) b.free(copy);
  return { trace: b.build(), original, copy };
}

const frees = ({ events }: ReturnType<typeof withSharedSaves>) =>
  Array.from({ length: events.count }, (_, e) => e)
    .filter((e) => events.kind[e] === EventKind.free)
    .map((e) => [events.subject[e], e - events.count]);

test("shared memory exists until the last of its users is freed", () => {
  const { trace, original, copy } = savedByCopy(true);
  expect(trace.storages.count).toBe(3);
  expect(frees(trace).map(([storage]) => storage)).toEqual([original, copy]);
  expect(frees(withSharedSaves(trace))).toEqual([[original, -1]]);
});

test("shared memory that one user keeps exists to the end", () => {
  expect(frees(withSharedSaves(savedByCopy(false).trace))).toEqual([]);
});
