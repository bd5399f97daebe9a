import { type DeviceSpec, OpFlag, parseTrace, RuntimeSource, Trace, TraceBuilder, writeTrace } from "@remat/trace";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { deviceSpec, deviceSpecs, priceTrace, rooflineMs } from "../src/index.js";
import { randomTrace } from "./random-trace.js";

const device = fc.constantFrom(...Object.values(deviceSpecs));
const runtimes = (trace: Trace) => Array.from(trace.ops.runtimeMs);

describe("rooflineMs", () => {
  const spec: DeviceSpec = {
    name: "test",
    tflops: { float32: 10, float16: 100, float64: 0 },
    memoryGBps: 1000,
    allocationUnitBytes: 1,
  };
  const cost = { flops: 0, bytesRead: 0, bytesWritten: 0, dtype: "float32" };

  test("bytes over bandwidth", () => expect(rooflineMs({ ...cost, bytesRead: 3e9, bytesWritten: 1e9 }, spec)).toBe(4));
  test("the FLOPs over 75% of the dtype's peak", () => {
    expect(rooflineMs({ ...cost, flops: 7.5e9 }, spec)).toBeCloseTo(1, 12);
    expect(rooflineMs({ ...cost, flops: 7.5e9, dtype: "float16" }, spec)).toBeCloseTo(0.1, 12);
  });
  test("half of the FLOPs, as PyTorch's RuntimeEstimator does", () => {
    expect(rooflineMs({ ...cost, flops: 15e9 }, spec, { asPytorch: true })).toBeCloseTo(1, 12);
  });
  test("the longer of both", () => {
    expect(rooflineMs({ ...cost, flops: 7.5e9, bytesRead: 2e9 }, spec)).toBe(2);
    expect(rooflineMs({ ...cost, flops: 22.5e9, bytesRead: 2e9 }, spec)).toBeCloseTo(3, 12);
  });
  test("a dtype without a figure is priced as float32, a peak of 0 as no bound", () => {
    expect(rooflineMs({ ...cost, flops: 7.5e9, dtype: "int32" }, spec)).toBeCloseTo(1, 12);
    expect(rooflineMs({ ...cost, flops: 7.5e9, dtype: "float64" }, spec)).toBe(0);
  });
  test("achievable shares of the device, which PyTorch's model does not have", () => {
    const device = { ...spec, achievable: { compute: 0.5, memory: 0.8 } };
    expect(rooflineMs({ ...cost, flops: 7.5e9 }, device)).toBeCloseTo(1.5, 12);
    expect(rooflineMs({ ...cost, bytesRead: 4e9 }, device)).toBeCloseTo(5, 12);
    expect(rooflineMs({ ...cost, flops: 15e9 }, device, { asPytorch: true })).toBeCloseTo(1, 12);
    expect(rooflineMs({ ...cost, bytesRead: 4e9 }, device, { asPytorch: true })).toBe(4);
  });
  test("at least the time to launch an op in its framework, unless nothing is launched", () => {
    const device = { ...spec, launchUs: { tfjs: 15 } };
    const small = { ...cost, bytesRead: 4 };
    expect(rooflineMs(small, device, { framework: "tfjs" })).toBe(0.015);
    expect(rooflineMs(cost, device, { framework: "tfjs" })).toBe(0);
    expect(rooflineMs({ ...cost, bytesRead: 4e9 }, device, { framework: "tfjs" })).toBe(4);
    for (const options of [{}, { framework: "pytorch" }, { framework: "tfjs", asPytorch: true }])
      expect(rooflineMs(small, device, options)).toBe(4e-9);
  });
  test("never exceeds the peak or the bandwidth of any device", () => {
    const amount = fc.maxSafeNat();
    const dtype = fc.constantFrom("float64", "float32", "bfloat16", "float16", "int32");
    fc.assert(
      fc.property(device, dtype, amount, amount, (known, dtype, flops, bytesRead) => {
        const seconds = rooflineMs({ flops, bytesRead, bytesWritten: 0, dtype }, known) / 1000;
        const peak = (known.tflops[dtype] ?? known.tflops["float32"]) * 1e12;
        expect(flops).toBeLessThanOrEqual(peak * seconds);
        expect(bytesRead).toBeLessThanOrEqual(known.memoryGBps * 1e9 * seconds * (1 + 1e-12));
      }),
    );
  });
});

describe("a calibrated device", () => {
  const speed = { launchUs: 10, memoryGBps: 1, error: 0.1, calls: 5 };
  const facts = { backendVersion: "tfjs", machine: "this", at: "2026-11-29", drift: 1, notes: [] };
  const spec: DeviceSpec = {
    ...deviceSpec("cpu"),
    kernels: { Relu: speed, "Add/scalar": { ...speed, launchUs: 20 }, elementwise: { ...speed, launchUs: 30 } },
    calibration: { backend: "cpu", ...facts, cacheBytes: 1000, dispatchUs: 5, error: 0.2 },
  };
  const traceOf = (backend: string): Trace => {
    const b = new TraceBuilder({ framework: "tfjs", backend, device: "cpu", mode: "fake", allocationUnitBytes: 1 });
    const tensor = (...shape: number[]) =>
      b.tensor({ storage: b.allocate(4 * shape.reduce((a, n) => a * n, 1)), dtype: "float32", shape });
    const [x, one] = [tensor(50), tensor(1)];
    b.op({ name: "Relu", inputs: [x], outputs: [tensor(50)] });
    b.op({ name: "Relu", inputs: [tensor(500)], outputs: [tensor(500)] });
    b.op({ name: "Add", inputs: [x, one], outputs: [tensor(50)] });
    b.op({ name: "Add", inputs: [x, x], outputs: [tensor(50)] });
    b.op({ name: "BatchMatMul", inputs: [tensor(1, 5, 10), tensor(1, 10, 5)], outputs: [tensor(1, 5, 5)] });
    return b.build();
  };

  test("prices ops by the kind of their call, their kernel or their class, with the framework's time", () => {
    const { runtimeMs, runtimeSpreadMs } = priceTrace(traceOf("cpu"), spec).ops;
    // 400 B at 1 GB/s are 0.4 µs. Without a rate beyond the cache, only the first 1,000 of 4,000 B take time.
    const expected = [10.4, 11, 20.404, 30.6].map((us) => (us + 5) / 1e3);
    for (const [op, ms] of expected.entries()) {
      expect(runtimeMs[op]).toBeCloseTo(ms, 12);
      expect(runtimeSpreadMs[op]).toBeCloseTo(0.2 * ms, 12);
    }
  });
  test("scales launches by phase, and adds the time to free results", () => {
    const factors = { launchFactors: { forward: 2 }, freeGBps: 0.1 };
    const device = { ...spec, calibration: { ...spec.calibration!, ...factors } };
    const { runtimeMs } = priceTrace(traceOf("cpu"), device).ops;
    // 200 and 2,000 B at 0.1 GB/s are 2 and 20 µs.
    const expected = [20.4 + 2, 21 + 20, 40.404 + 2, 60.6 + 2].map((us) => (us + 5) / 1e3);
    for (const [op, ms] of expected.entries()) expect(runtimeMs[op]).toBeCloseTo(ms, 12);
  });
  test("prices kernels that no measured speed covers by the roofline", () => {
    const [of, by] = [spec, deviceSpec("cpu")].map((each) => priceTrace(traceOf("cpu"), each).ops);
    expect(of.runtimeMs[4]).toBe(by.runtimeMs[4]);
    expect(of.runtimeSpreadMs[4]).toBeNaN();
  });
  test("prices steps of other backends, and all as PyTorch does, by the roofline", () => {
    const by = (backend: string, each: DeviceSpec, options = {}) =>
      runtimes(priceTrace(traceOf(backend), each, options));
    expect(by("wasm", spec)).toEqual(by("wasm", deviceSpec("cpu")));
    const asPytorch = { asPytorch: true };
    expect(by("cpu", spec, asPytorch)).toEqual(by("cpu", deviceSpec("cpu"), asPytorch));
  });
});

describe("priceTrace", () => {
  test("prices every op, and views at nothing", () => {
    fc.assert(
      fc.property(randomTrace, device, (trace, spec) => {
        const { ops } = priceTrace(trace, spec);
        for (let op = 0; op < ops.count; op++) {
          expect(ops.runtimeSource[op]).toBe(RuntimeSource.roofline);
          const view = (ops.flags[op] & OpFlag.view) !== 0 || trace.opName(op) === "Reshape";
          if (view)
            expect([ops.runtimeMs[op], ops.flops[op], ops.bytesRead[op], ops.bytesWritten[op]]).toEqual([0, 0, 0, 0]);
          else expect(ops.runtimeMs[op]).toBeGreaterThanOrEqual(0);
        }
      }),
    );
  });

  test("is never slower on a device that is at least as fast in all respects", () => {
    fc.assert(
      fc.property(
        randomTrace,
        device,
        fc.double({ min: 1, max: 10, noNaN: true }),
        fc.double({ min: 1, max: 10, noNaN: true }),
        (trace, spec, compute, memory) => {
          const faster: DeviceSpec = {
            ...spec,
            tflops: Object.fromEntries(Object.entries(spec.tflops).map(([dtype, peak]) => [dtype, peak * compute])),
            memoryGBps: spec.memoryGBps * memory,
          };
          const before = runtimes(priceTrace(trace, spec));
          const after = runtimes(priceTrace(trace, faster));
          for (const [op, ms] of before.entries()) expect(after[op]).toBeLessThanOrEqual(ms);
        },
      ),
    );
  });

  test("takes the same time for an op whatever came before it", () => {
    fc.assert(
      fc.property(randomTrace, device, (trace, spec) => {
        const byCall = new Map<string, number>();
        const priced = priceTrace(trace, spec);
        for (let op = 0; op < trace.ops.count; op++) {
          const shapes = [...trace.opInputs(op), ...trace.opOutputs(op)].map((t) => [
            trace.tensorDtype(t),
            trace.tensorShape(t),
          ]);
          const key = JSON.stringify([trace.opName(op), trace.ops.flags[op], shapes]);
          expect(priced.ops.runtimeMs[op]).toBe(byCall.get(key) ?? priced.ops.runtimeMs[op]);
          byCall.set(key, priced.ops.runtimeMs[op]);
        }
      }),
    );
  });

  test("a priced trace can be priced for another device, from a file too, as if it were new", () => {
    fc.assert(
      fc.property(randomTrace, device, device, (trace, first, second) => {
        const fresh = priceTrace(trace, second);
        expect(runtimes(priceTrace(priceTrace(trace, first), second))).toEqual(runtimes(fresh));
        const read = parseTrace(Buffer.concat([...writeTrace(priceTrace(trace, first))]));
        expect(runtimes(priceTrace(read, second))).toEqual(runtimes(fresh));
      }),
      { numRuns: 20 },
    );
  });

  test("FLOPs and bytes that a trace brings are priced as they are, without a formula", () => {
    const b = new TraceBuilder({ framework: "another", device: "gpu", mode: "real", allocationUnitBytes: 1 });
    const tensor = b.tensor({ storage: b.allocate(8), dtype: "float16", shape: [4] });
    b.op({ name: "MyFusedThing", outputs: [tensor], flops: 3e12, bytesRead: 1e9, bytesWritten: 2e9 });
    b.op({ name: "MyFusedThing", outputs: [tensor], flops: 0, bytesRead: 1e9, bytesWritten: 2e9 });
    b.op({ name: "MyFusedThing", outputs: [tensor] });
    const a100 = deviceSpec("a100");
    const { ops } = priceTrace(b.build(), a100);
    const ms = (flops: number, bytesRead: number, bytesWritten: number) =>
      rooflineMs({ flops, bytesRead, bytesWritten, dtype: "float16" }, a100);
    expect(Array.from(ops.runtimeMs)).toEqual([ms(3e12, 1e9, 2e9), ms(0, 1e9, 2e9), ms(0, 0, 8)]);
    expect(Array.from(ops.flops)).toEqual([3e12, 0, 0]);
  });

  test("prices what was recorded in other dtypes, too", () => {
    fc.assert(
      fc.property(randomTrace, randomTrace, device, (trace, low, spec) => {
        const priced = priceTrace(new Trace({ ...trace, recordedIn: new Map([["bfloat16", low]]) }), spec);
        expect(priced.ops).toEqual(priceTrace(trace, spec).ops);
        expect(priced.recordedIn.get("bfloat16")!.ops).toEqual(priceTrace(low, spec).ops);
      }),
      { numRuns: 20 },
    );
  });

  test("leaves the trace that it was given as it was", () => {
    fc.assert(
      fc.property(randomTrace, device, (trace, spec) => {
        const before = structuredClone({ ...trace.ops });
        priceTrace(trace, spec);
        expect({ ...trace.ops }).toEqual(before);
      }),
      { numRuns: 20 },
    );
  });
});
