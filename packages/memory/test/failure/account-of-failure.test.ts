import { Category, type MemoryFailure, type Trace, TraceBuilder } from "@remat/trace";
import { describe, expect, it } from "vitest";
import { accountOfFailure } from "../../src/failure/index.js";

/** A step with 1000 bytes of weights and 200 of data, three activations of 100, of which the first is gone, and no end. */
function brokenOff(failure: MemoryFailure | undefined): Trace {
  const b = new TraceBuilder({
    framework: "tfjs",
    device: "cpu",
    mode: "real",
    allocationUnitBytes: 1,
    ...(failure && { failure }),
  });
  const tensor = (bytes: number, category: number): number =>
    b.tensor({ storage: b.allocate(bytes, "cpu", category), dtype: "int8", shape: [bytes] });
  const w = tensor(1000, Category.parameter);
  const x = tensor(200, Category.input);
  const h = tensor(100, Category.activation);
  b.op({ name: "MatMul", inputs: [x, w], outputs: [h], line: "train.js:3:5" });
  const first = tensor(100, Category.activation);
  b.op({ name: "Relu", inputs: [h], outputs: [first], line: "train.js:4:5" });
  b.free(2);
  b.op({ name: "Relu", inputs: [first], outputs: [tensor(100, Category.activation)], line: "train.js:4:5" });
  return b.build();
}

describe("the account of a run that had no memory left", () => {
  it("is of none that ended otherwise", () => {
    expect(accountOfFailure(brokenOff(undefined))).toBeUndefined();
  });

  it("says who holds what, by line and category, and what any way holds at least", () => {
    expect(accountOfFailure(brokenOff({ cause: "kernel", op: "Conv2D", askedBytes: 150 }))).toEqual({
      failure: { cause: "kernel", op: "Conv2D", askedBytes: 150 },
      heldBytes: 1400,
      bytesByCategory: { parameter: 1000, input: 200, activation: 200 },
      lines: [
        { line: undefined, op: undefined, category: "parameter", count: 1, bytes: 1000 },
        { line: undefined, op: undefined, category: "input", count: 1, bytes: 200 },
        { line: "train.js:4:5", op: "Relu", category: "activation", count: 2, bytes: 200 },
      ],
      restingBytes: 1200,
      roomBytes: 1400,
      // An op's two activations are more than what was asked for.
      leastBytes: 1400,
      isLeak: false,
      remedy: { kind: "smaller-batch", share: 200 / 350 },
    });
  });

  it.each<[what: string, failure: MemoryFailure, isLeak: boolean, remedy: object | undefined]>([
    ["a tenth of it grew", { cause: "kernel", stepsBefore: 14, bytesPerStep: 10 }, true, { kind: "leaks" }],
    [
      "less of it grew",
      { cause: "kernel", stepsBefore: 13, bytesPerStep: 10, askedBytes: 200 },
      false,
      { kind: "smaller-batch", share: 0.5 },
    ],
    ["JavaScript's heap was full", { cause: "heap" }, false, { kind: "leaks" }],
    ["what was asked for is more than any batch", { cause: "array", askedBytes: 1e9 }, false, undefined],
  ])("where %s", (_what, failure, isLeak, remedy) => {
    expect(accountOfFailure(brokenOff(failure))).toMatchObject({ isLeak, remedy });
  });

  it("recommends recomputing where that holds less than there was room for", () => {
    const b = new TraceBuilder({
      framework: "tfjs",
      device: "cpu",
      mode: "real",
      allocationUnitBytes: 1,
      failure: { cause: "kernel", askedBytes: 100 },
    });
    let before = b.tensor({ storage: b.allocate(10, "cpu", Category.input), dtype: "int8", shape: [10] });
    for (let i = 0; i < 20; i++) {
      const after = b.tensor({ storage: b.allocate(100, "cpu", Category.activation), dtype: "int8", shape: [100] });
      b.op({ name: "Relu", inputs: [before], outputs: [after] });
      before = after;
    }
    expect(accountOfFailure(b.build())).toMatchObject({
      roomBytes: 2010,
      leastBytes: 210,
      remedy: { kind: "budget", budgetBytes: 2010 },
    });
  });
});
