import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { RuntimeSource, type Trace, TraceBuilder } from "@remat/trace";
import { describe, expect, it } from "vitest";
import { isEstimated, timeFormat } from "../src/index.js";
import { describeTimes } from "../src/time-quality.js";

function twoOps(): Trace {
  const b = new TraceBuilder({ framework: "tfjs", device: "cpu", mode: "fake", allocationUnitBytes: 1 });
  const tensor = b.tensor({ storage: b.allocate(8), dtype: "float32", shape: [2] });
  for (const name of ["Relu", "Exp"]) b.op({ name, inputs: [tensor], outputs: [tensor] });
  return priceTrace(b.build(), deviceSpec("cpu"));
}

const withSources = (...sources: number[]): Trace => {
  const trace = twoOps();
  return trace.withRuntimes({ ...trace.ops, runtimeSource: Uint8Array.from(sources) });
};

describe("the quality of times", () => {
  it("is an estimate if no op was measured", () => {
    expect(isEstimated(twoOps())).toBe(true);
    const { roofline, measured, imported, none } = RuntimeSource;
    for (const source of [measured, imported]) expect(isEstimated(withSources(roofline, source))).toBe(false);
    expect(isEstimated(withSources(none, none))).toBe(false);
  });

  it("is that of the device's calibration if every op is priced by one", () => {
    const speed = { launchUs: 10, error: 0.1, calls: 3 };
    const calibration = {
      ...{ backend: "cpu", backendVersion: "tfjs", machine: "this", at: "2026-11-29", cacheBytes: 1000 },
      ...{ dispatchUs: 1, error: 0.174, drift: 1, notes: [] },
    };
    const device = { ...deviceSpec("cpu"), name: "here", kernels: { elementwise: speed }, calibration };
    const { header } = twoOps();
    const trace = priceTrace(twoOps().withHeader({ ...header, backend: "cpu" }), device);
    expect(describeTimes("here", trace)).toBe("estimated for this machine (calibrated, ±17%)");
    expect(timeFormat(trace)(12.345678)).toBe("12 ms");
  });

  it("decides about digits and is named", () => {
    expect(timeFormat(twoOps())(12.345678)).toBe("12 ms");
    expect(timeFormat(withSources(RuntimeSource.measured, RuntimeSource.measured))(12.345678)).toBe("12.35 ms");
    const { roofline, measured, imported, none } = RuntimeSource;
    const described = [roofline, measured, imported, none].map((source) =>
      describeTimes("a100", withSources(none, source)),
    );
    expect(described).toEqual([
      "estimated for A100 (roofline, not calibrated)",
      "measured times",
      "imported times",
      "for A100",
    ]);
  });
});
