import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { RuntimeSource, TraceBuilder } from "@remat/trace";
import { expect, it } from "vitest";
import { timeFormatOf } from "../../src/text/format-time.js";

it("has two digits where all times are estimates, and four where one was measured", () => {
  const builder = new TraceBuilder({
    framework: "tfjs",
    device: "cpu",
    mode: "fake",
    allocationUnitBytes: 1,
  });
  builder.op({ name: "Relu", inputs: [], outputs: [] });
  const trace = priceTrace(builder.build(), deviceSpec("a100"));
  expect([1.2345, 5e-5, 1e-9].map(timeFormatOf(trace))).toEqual(["1.2 ms", "50 ns", "< 1 ns"]);
  trace.ops.runtimeSource[0] = RuntimeSource.measured;
  expect([1.2345, 5e-5, 1e-9].map(timeFormatOf(trace))).toEqual(["1.234 ms", "50 ns", "< 1 ns"]);
});
