import { Category, Phase, TraceBuilder, type TraceHeader } from "@remat/trace";
import { expect, test } from "vitest";
import { isGrowing, leaksDocument, leaksFacts, leaksTable, summarizeLeaks } from "../../src/documents/index.js";

const device = { name: "a card", memoryBytes: 1000 };

/** Steps each of which leaves a loss behind, and one module's output of two shapes by one line. */
function traceOf(steps: number, header: Partial<TraceHeader> = {}) {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "real", allocationUnitBytes: 1, ...header });
  const module = b.module({ fqn: "net.dense", kind: "Dense", leaf: true });
  const make = (shape: readonly number[]) => {
    const storage = b.allocate(4 * shape.reduce((a, n) => a * n, 1), "cpu", Category.activation);
    return b.tensor({ storage, dtype: "float32", shape: [...shape] });
  };
  const op = (name: string, line: string, shape: readonly number[], stack = 0) =>
    b.op({ name, line, stack, phase: Phase.forward, outputs: [make(shape)], runtimeMs: 100 });
  for (let step = 0; step < steps; step++) {
    const stack = b.stackOfCall(b.call(module, -1, true));
    op("Relu", "net.js:7:9", [2], stack);
    op("Mean", "train.js:3:5", []);
    op("Relu", "net.js:7:9", [3], stack);
    const update = b.allocate(4, "cpu", Category.temporary);
    const tensor = b.tensor({ storage: update, dtype: "float32", shape: [] });
    b.op({ name: "Add", line: "train.js:4:5", phase: Phase.optimizer, outputs: [tensor], runtimeMs: 100 });
    b.free(update);
  }
  return b.build();
}

test("says how memory grows and when it is full, by line, then op, shape and module", () => {
  const summary = summarizeLeaks(traceOf(8), device);
  expect(isGrowing(summary)).toBe(true);
  // 192 bytes are held after eight steps.
  expect(leaksFacts(summary).facts).toEqual([
    "Memory grows by 3 storages and 24 B per step (8 steps observed).",
    "1000 B (a card) will be full after 33 more steps, in 13 seconds at this speed.",
  ]);
  const shown = leaksDocument(summary)
    .parts()
    .flatMap((part) => (part.kind === "table" ? part.rows : []));
  const fix = "wrap it in tf.tidy(() => …), or dispose of it";
  expect(shown).toEqual([
    ["net.js:7:9", "Relu", "float32 [3]", "net.dense", "growing, activation", "8", "96 B", "+1, +12 B", fix],
    ["", "Relu", "float32 [2]", "net.dense", "growing, activation", "8", "64 B", "+1, +8 B", fix],
    ["train.js:3:5", "Mean", "float32 []", "", "growing, activation", "8", "32 B", "+1, +4 B", fix],
  ]);
  expect(leaksTable(summary).rows[2]).toEqual([
    "train.js:3:5",
    "Mean",
    "float32 []",
    undefined,
    "growing, activation",
    8,
    32,
    1,
    4,
    fix,
  ]);
});

test("says of too few steps what they leave, and what can be done", () => {
  const summary = summarizeLeaks(traceOf(1), device);
  expect(isGrowing(summary)).toBe(false);
  expect(leaksFacts(summary).facts).toEqual([
    "3 storages (24 B) outlive the step that allocated them.",
    "1 step cannot show whether they are freed later. Record 5 steps or more.",
    "remat leaks -- PROGRAM watches all steps of a program.",
  ]);
});

test("says of a run that had no memory left how it had grown before", () => {
  const failure = { cause: "kernel", stepsBefore: 9, bytesPerStep: 100 } as const;
  const summary = summarizeLeaks(traceOf(1, { failure }), device);
  expect(isGrowing(summary)).toBe(true);
  expect(leaksFacts(summary).facts[0]).toBe(
    "Memory in use between steps grew by 100 B per step over the 9 steps before this one.",
  );
});

test("says where a trace cannot tell", () => {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "real", allocationUnitBytes: 1 });
  const tensor = b.tensor({ storage: b.allocate(4), dtype: "float32", shape: [] });
  b.op({ name: "Mean", outputs: [tensor] });
  expect(leaksFacts(summarizeLeaks(b.build())).facts).toEqual([
    "The trace does not record when storages are freed, so leaks cannot be detected.",
  ]);
});
