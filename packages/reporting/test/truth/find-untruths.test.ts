import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { type Trace, TraceBuilder } from "@remat/trace";
import { describe, expect, it } from "vitest";
import { findFastOps, findUntruths } from "./find-untruths.js";
import { type Recording, recordings } from "./recordings.js";

const a100 = deviceSpec("a100");
/** The A100 in PyTorch's model, which reaches all of its bandwidth and launches ops in no time. */
const ideal = { ...a100, achievable: {}, launchUs: {} };

/** A product of two square matrices in a module, with a weight. */
function product(): Trace {
  const b = new TraceBuilder({ framework: "pytorch", device: "cuda:0", mode: "real", allocationUnitBytes: 1 });
  const matrix = () => b.tensor({ storage: b.allocate(4 * 64 ** 2, "activation"), dtype: "float32", shape: [64, 64] });
  b.op({ name: "aten.mm.default", inputs: [matrix(), matrix()], outputs: [matrix()] });
  return b.build();
}

describe("figures that cannot be true", () => {
  it("are not found in a product", () => expect(findUntruths(product(), a100)).toEqual([]));

  it("are FLOP/s above the peak and bytes per second above the bandwidth", () => {
    const trace = priceTrace(product(), ideal);
    const slow = { ...a100, name: "slow", tflops: { float32: 1e-3 }, memoryGBps: 1 };
    expect(findFastOps(trace, a100)).toEqual([]);
    expect(findFastOps(trace, slow)).toEqual([
      expect.stringContaining("op 0 (aten.mm.default) runs at"),
      expect.stringContaining("op 0 (aten.mm.default) moves 1.37e+3 GB/s, above the bandwidth of slow, 1"),
    ]);
  });

  it("are PyTorch's times of ops that compute, at 150% of the peak", () => {
    const slow = { ...a100, tflops: { float32: 1e-3 } };
    const asPytorch = priceTrace(product(), slow, { asPytorch: true });
    expect(findFastOps(asPytorch, slow)).toEqual([
      "op 0 (aten.mm.default) runs at 0.00150 TFLOP/s, above the peak of a100, 0.001",
    ]);
    expect(findFastOps(priceTrace(product(), slow), slow)).toEqual([]);
  });

  it("are products without FLOPs", () => {
    const trace = product();
    const without = trace.withRuntimes({ ...trace.ops, flops: new Float64Array(1) });
    expect(findUntruths(without, a100)).toEqual(["op 0 (aten.mm.default) has 0 FLOPs"]);
  });
});

describe("figures of recorded steps can be true", () => {
  const some: Recording[] = [];
  for (const recording of recordings()) if (/rt_|encoder|gan|in-two-dtypes/.test(recording.name)) some.push(recording);

  it.each(some)("$name", ({ trace }) => {
    for (const device of ["a100", "t4", "cpu"]) expect(findUntruths(trace, deviceSpec(device))).toEqual([]);
  });
});
