import { heldByModule, heldPeak } from "@remat/memory";
import { Trace } from "@remat/trace";
import { describe, expect, it } from "vitest";
import { baselineStep, readMemoryBaseline, writeMemoryBaseline } from "../../src/baseline/index.js";
import { goldenTrace } from "../golden-trace.js";

const trace = goldenTrace("mem_mlp4_adam");
const step = baselineStep(trace);
const withHeader = (change: object): Trace => new Trace({ ...trace, header: { ...trace.header, ...change } });

it("a step has its peak by category and by module", () => {
  const peak = heldPeak(trace);
  expect(step).toMatchObject({ peakBytes: peak.peakBytes, bytesByCategory: peak.bytesByCategory });
  expect(step.bytesByModule).toEqual(Object.fromEntries(heldByModule(trace, peak)));
  expect(Object.keys(step.bytesByModule).length).toBeGreaterThan(1);
});

it("a step is known by its settings, and by its model without the number that Keras appends", () => {
  const settings = { backend: "cpu", allocationUnitBytes: 512, framework: "tfjs", step: { batch: 4 } };
  const of = (model: string | undefined) => JSON.parse(baselineStep(withHeader({ ...settings, model })).step);
  expect(of("net")).toEqual({ model: "net", framework: "tfjs", backend: "cpu", allocationUnitBytes: 512, batch: 4 });
  expect(["model1", "sequential_12", "block2_conv", undefined].map((name) => of(name).model)).toEqual([
    ...["model", "sequential", "block2_conv", undefined],
  ]);
});

describe("the file of a baseline", () => {
  it("is read as it was written, whatever the order of its steps", () => {
    const [a, b] = [step, { ...step, peakBytes: 0 }];
    const text = writeMemoryBaseline({ a, b });
    expect(writeMemoryBaseline({ b, a })).toBe(text);
    expect(text).toBe(`${JSON.stringify({ schema: "memory-baseline/1", models: { a, b } }, undefined, 2)}\n`);
    expect(Object.keys(readMemoryBaseline(text))).toEqual(["a", "b"]);
    expect(readMemoryBaseline(text)).toEqual({ a, b });
  });

  const file = (entry: unknown): string => JSON.stringify({ schema: "memory-baseline/1", models: { net: entry } });
  it.each([
    ["{", /^baseline: not JSON \(/],
    ["null", 'baseline: expected "schema": "memory-baseline/1", found nothing.'],
    ['{"schema":"trace/1"}', 'found "trace/1".'],
    [`{"schema":"${"x".repeat(80)}"}`, `found "${"x".repeat(59)}….`],
    [`{"schema":"${"x".repeat(58)}"}`, `found "${"x".repeat(58)}".`],
    ['{"schema":"memory-baseline/1","models":[]}', 'expected an object "models"'],
    [file(null), '"net": expected step, peakBytes, bytesByCategory and bytesByModule, found null'],
    [file({ ...step, step: 1 }), '"net".step: expected the settings of a step, as JSON, found 1'],
    [file({ ...step, step: "[]" }), '"net".step: expected the settings'],
    [file({ ...step, step: "{" }), '"net".step: expected the settings'],
    [file({ ...step, peakBytes: -1 }), '"net".peakBytes: expected a number of bytes, found -1'],
    [file({ ...step, peakBytes: 0.5 }), '"net".peakBytes: expected a number of bytes, found 0.5'],
    [file({ ...step, bytesByModule: [] }), '"net".bytesByModule: expected numbers of bytes by name, found []'],
    [file({ ...step, bytesByCategory: { other: "1" } }), '"net".bytesByCategory["other"]: expected a number of bytes'],
  ])("that is damaged is rejected with the field: %s", (text, message) => {
    expect(() => readMemoryBaseline(text)).toThrow(message);
    expect(() => readMemoryBaseline(text)).toThrow("Write it again with remat check … --update.");
    expect(() => readMemoryBaseline(text)).toThrow(expect.objectContaining({ code: "BASELINE" }));
  });
});
