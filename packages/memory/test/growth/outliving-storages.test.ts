import { Category, Phase, type Trace, TraceBuilder, type TraceHeader } from "@remat/trace";
import fc from "fast-check";
import { expect, test } from "vitest";
import { outlivingStorages } from "../../src/growth/index.js";

/**
 * A line of each step of a trace: it makes a tensor of this many bytes, which is freed this many steps later, or never
 * if undefined.
 */
interface Line {
  readonly bytes: number;
  readonly freedAfter: number | undefined;
}

/** Steps that replace a weight of 52 bytes, and make a tensor a line. */
function traceOf(steps: number, lines: readonly Line[], failure?: TraceHeader["failure"]): Trace {
  const header = { framework: "tfjs", device: "cpu", mode: "real", allocationUnitBytes: 1 } as const;
  const b = new TraceBuilder({ ...header, ...(failure && { failure }) });
  const make = (bytes: number, category: number = Category.temporary) => {
    const storage = b.allocate(bytes, "cpu", category);
    return { storage, tensor: b.tensor({ storage, dtype: "float32", shape: [bytes / 4] }) };
  };
  const op = (name: string, line: string, phase: number, input: number, output: number) =>
    b.op({ name, line, phase, inputs: [input], outputs: [output], runtimeMs: 1 });
  let weight = make(52, Category.parameter);
  const alive: { readonly storage: number; readonly until: number }[] = [];
  for (let step = 0; step < steps; step++) {
    for (const [i, { bytes, freedAfter }] of lines.entries()) {
      const { storage, tensor } = make(bytes);
      op("Mul", `train.js:${i + 1}:5`, Phase.forward, weight.tensor, tensor);
      // A view is none of what is made.
      const view = b.tensor({ storage, dtype: "float32", shape: [1, bytes / 4] });
      op("Reshape", `train.js:${i + 1}:9`, Phase.forward, tensor, view);
      if (freedAfter !== undefined) alive.push({ storage, until: step + freedAfter });
    }
    for (const { storage } of alive.filter(({ until }) => until <= step)) b.free(storage);
    alive.splice(0, alive.length, ...alive.filter(({ until }) => until > step));
    const updated = make(52);
    op("Add", "train.js:99:5", Phase.optimizer, weight.tensor, updated.tensor);
    b.free(weight.storage);
    weight = updated;
  }
  return b.build();
}

test("storages that outlive each step grow, by line, op and shape; replaced ones and those freed later do not", () => {
  const trace = traceOf(8, [
    { bytes: 16, freedAfter: undefined },
    { bytes: 8, freedAfter: 0 },
    { bytes: 4, freedAfter: 1 },
  ]);
  const { steps, makers } = outlivingStorages(trace);
  expect(steps).toBe(8);
  expect(makers).toEqual([
    {
      line: "train.js:1:5",
      op: "Mul",
      dtype: "float32",
      shape: [4],
      module: undefined,
      category: "temporary",
      count: 8,
      bytes: 128,
      verdict: "growing",
      period: "step",
      periods: 5,
      countPerPeriod: 1,
      bytesPerPeriod: 16,
    },
    expect.objectContaining({ line: "train.js:3:5", verdict: "steady", count: 1, bytes: 4 }),
  ]);
});

test("for a single step, remaining storages are reported, but no growth", () => {
  const { steps, makers, before } = outlivingStorages(traceOf(1, [{ bytes: 16, freedAfter: undefined }]));
  expect(steps).toBe(1);
  expect(before).toBeUndefined();
  expect(makers.map(({ line, verdict, count }) => [line, verdict, count])).toEqual([["train.js:1:5", "too short", 1]]);
});

test("a run that had no memory left says how it had grown until then", () => {
  const failure = { cause: "kernel", message: "OOM", stepsBefore: 9, bytesPerStep: 128 } as const;
  expect(outlivingStorages(traceOf(1, [], failure)).before).toEqual(failure);
});

test("exactly the lines grow whose tensors are never freed, with all of them", () => {
  const line = fc.record({
    bytes: fc.integer({ min: 1, max: 9 }).map((n) => 4 * n),
    freedAfter: fc.option(fc.nat(3), { nil: undefined }),
  });
  fc.assert(
    fc.property(fc.array(line, { maxLength: 5 }), fc.integer({ min: 16, max: 40 }), (lines, steps) => {
      const { makers } = outlivingStorages(traceOf(steps, lines));
      const growing = makers.filter(({ verdict }) => verdict === "growing");
      const planted = lines.flatMap(({ freedAfter, bytes }, i) =>
        freedAfter === undefined ? [[`train.js:${i + 1}:5`, steps, steps * bytes]] : [],
      );
      const found = growing.map(({ line: at, count, bytes }) => [at, count, bytes]);
      expect(found.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1))).toEqual(planted);
    }),
  );
});
