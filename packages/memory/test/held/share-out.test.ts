import { Category, TraceBuilder } from "@remat/trace";
import { expect, it } from "vitest";
import { heldPeak, shareOut } from "../../src/index.js";

it("shares out what belongs to parameters, from its first byte on, and nothing else", () => {
  const b = new TraceBuilder({ framework: "pytorch", device: "cuda:0", mode: "fake", allocationUnitBytes: 1 });
  b.allocate(101, "cuda:0", Category.parameter);
  b.allocate(40, "cuda:0", Category.optimizerState);
  const activation = b.allocate(64, "cuda:0", Category.activation);
  const gradient = b.allocate(100, "cuda:0", Category.temporary);
  b.categorize(gradient, Category.gradient);
  b.op({ name: "step", outputs: [b.tensor({ storage: activation, dtype: "float32", shape: [16] })] });
  const trace = b.build();
  const shared = shareOut(trace, 4);
  expect(Array.from(shared.storages.bytes.subarray(0, 4))).toEqual([26, 10, 64, 25]);
  expect(heldPeak(shared).peakBytes).toBe(125);
  expect(heldPeak(trace).peakBytes).toBe(305);
});
