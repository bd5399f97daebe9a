import { Category, type MemoryFailure, TraceBuilder } from "@remat/trace";
import { describe, expect, it } from "vitest";
import { judgeMemory } from "../../src/verdict/index.js";

/** The facts of a run with 4096 bytes of weights and an activation of 1024 that ended like this. */
function factsOf(failure: MemoryFailure): readonly string[] {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "real", allocationUnitBytes: 1, failure });
  const tensor = (bytes: number, category: number): number =>
    b.tensor({ storage: b.allocate(bytes, "cpu", category), dtype: "int8", shape: [bytes] });
  const w = tensor(4096, Category.parameter);
  b.op({ name: "Relu", inputs: [w], outputs: [tensor(1024, Category.activation)], line: "train.js:4:5" });
  const device = { name: "this machine", memoryBytes: 2 ** 30 };
  const verdict = judgeMemory(b.build(), { device, commandFor: ({ kind }) => `to type for ${kind}` })!;
  expect(verdict).toMatchObject({ fits: false, peakBytes: 5120, device: "this machine" });
  return verdict.facts;
}

describe("the verdict on a run that had no memory left", () => {
  it("says what was asked for and where, who held the rest, whether that grew, and what is to be typed", () => {
    const failure: MemoryFailure = {
      cause: "kernel",
      message: "OOM when allocating tensor",
      op: "Conv2D",
      line: "train.js:9:2",
      askedBytes: 2048,
      stepsBefore: 12,
      bytesPerStep: 256,
    };
    expect(factsOf(failure)).toEqual([
      "Out of memory in Conv2D at train.js:9:2, allocating 2 KiB: the backend's allocator had no more memory (OOM when allocating tensor).",
      "5 KiB was in use: parameters (80%), activations (20%).",
      "4 KiB existed before, or was allocated in JavaScript (parameters).",
      "1 KiB allocated by Relu at train.js:4:5 (activations).",
      "This is a leak: memory in use between steps grew by 256 B per step over 12 steps.",
      "To find the lines that leak:",
      "to type for leaks",
    ]);
  });

  it.each<[failure: MemoryFailure, end: readonly string[]]>([
    [
      { cause: "array", askedBytes: 1024 },
      [
        "It happened in the first step, so it is that step's own peak.",
        "By proportion, about 50% of the batch would have fit:",
        "to type for smaller-batch",
      ],
    ],
    [
      { cause: "array", askedBytes: 2 ** 40, stepsBefore: 2 },
      [
        "Only 2 steps ran before it, too few to detect a leak.",
        "No order of these ops needs less than 1.000 TiB, but only 5 KiB was available.",
      ],
    ],
    [
      { cause: "system", stepsBefore: 9, bytesPerStep: 0, askedBytes: 1024 },
      [
        "This is the step's own peak: memory in use between steps did not grow over 9 steps.",
        "By proportion, about 50% of the batch would have fit:",
        "to type for smaller-batch",
      ],
    ],
  ])("tells %j", (failure, end) => {
    expect(factsOf(failure).slice(4)).toEqual(end);
  });
});
