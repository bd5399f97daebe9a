import { RematError, RuntimeSource, type Trace, TraceBuilder } from "@remat/trace";
import * as tf from "@tensorflow/tfjs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { BenchmarkCache, benchmarkTrace, describeEnvironment } from "../../src/benchmark/index.js";
import { deviceSpec, type OpCall, priceTrace, RuntimeEstimator, type TensorType } from "../../src/index.js";
import { recordKernels, useCpu } from "../record-kernels.js";
import { kernelExamples } from "./kernel-examples.js";

/** A tfjs trace of these calls, each on tensors of its own. */
function traceOf(calls: readonly OpCall[], framework = "tfjs"): Trace {
  const b = new TraceBuilder({ framework, device: "cpu", mode: "fake", allocationUnitBytes: 1 });
  const tensor = ({ dtype, shape }: TensorType) => b.tensor({ storage: b.allocate(0), dtype, shape });
  for (const { name, inputs, outputs, attributes } of calls)
    b.op({ name, inputs: inputs.map(tensor), outputs: outputs.map(tensor), attributes });
  return b.build();
}

const float = (...shape: number[]) => ({ dtype: "float32", shape });
const add: OpCall = { name: "Add", inputs: [float(8), float(8)], outputs: [float(8)] };
const relu: OpCall = { name: "Relu", inputs: [float(8)], outputs: [float(8)] };
/** As little as can be: no test looks at how long anything takes. */
const quick = { warmUpRuns: 1, minRuns: 2, maxRuns: 2, budgetMsPerCall: 0 };

const held = () => [tf.memory().numTensors, tf.memory().numDataBuffers, tf.backend().numDataIds()];
let heldBefore: number[];
beforeEach(async () => {
  await useCpu();
  heldBefore = held();
});
afterEach(() => expect(held()).toEqual(heldBefore));

test("measures every kernel of the examples, and leaves nothing behind", async () => {
  const calls = kernelExamples.flatMap((run) => recordKernels(run));
  const { trace, notMeasured, measuredCalls } = await benchmarkTrace(traceOf(calls), quick);
  expect(notMeasured).toEqual([]);
  expect(measuredCalls).toBeLessThan(calls.length);
  expect(new Set(trace.ops.runtimeSource)).toEqual(new Set([RuntimeSource.measured]));
  expect(new Set(trace.ops.runtimeRuns)).toEqual(new Set([2]));
  for (let op = 0; op < trace.ops.count; op++) {
    expect(trace.ops.runtimeMs[op]).toBeGreaterThanOrEqual(0);
    expect(trace.ops.runtimeSpreadMs[op]).toBeGreaterThanOrEqual(0);
  }
  const priced = priceTrace(traceOf(calls), deviceSpec("cpu"));
  expect(trace.ops.flops).toEqual(priced.ops.flops);
  expect(trace.ops.bytesRead).toEqual(priced.ops.bytesRead);
  expect(new RuntimeEstimator().mode("operator-level-benchmark").estimate(trace).totalRuntimeMs).toBeGreaterThan(0);
});

test("gives a kernel the numbers that a trace can only hold as text", async () => {
  const clip = { ...relu, name: "ClipByValue", attributes: { clipValueMin: "-Infinity", clipValueMax: "NaN" } };
  const seen: unknown[] = [];
  const config = tf.getKernel("ClipByValue", "cpu");
  const watching: tf.KernelFunc = (params) => {
    seen.push(params.attrs);
    return config.kernelFunc(params);
  };
  tf.unregisterKernel("ClipByValue", "cpu");
  tf.registerKernel({ ...config, kernelFunc: watching });
  try {
    await benchmarkTrace(traceOf([clip]), quick);
  } finally {
    tf.unregisterKernel("ClipByValue", "cpu");
    tf.registerKernel(config);
  }
  expect(seen[0]).toEqual({ clipValueMin: -Infinity, clipValueMax: Number.NaN });
});

test("measures calls that are alike once, and tells of the progress", async () => {
  const progress: string[] = [];
  const onProgress = ({ doneCalls, totalCalls, kernel }: { doneCalls: number; totalCalls: number; kernel: string }) =>
    progress.push(`${doneCalls}/${totalCalls} ${kernel}`);
  const { trace, measuredCalls } = await benchmarkTrace(traceOf([add, relu, add, add]), { ...quick, onProgress });
  expect(measuredCalls).toBe(2);
  expect(progress).toEqual(["1/2 Add", "2/2 Relu"]);
  expect(trace.ops.runtimeMs[2]).toBe(trace.ops.runtimeMs[0]);
});

test("prices what cannot be run by the roofline model, and says what and why", async () => {
  const unknown: OpCall = { ...add, name: "NotAKernel" };
  const large: OpCall = { ...relu, inputs: [float(1000)], outputs: [float(1000)] };
  const strings: OpCall = { name: "StringSplit", inputs: [{ dtype: "string", shape: [1] }], outputs: [] };
  const text: OpCall = {
    name: "Identity",
    inputs: [{ dtype: "string", shape: [1] }],
    outputs: [{ dtype: "string", shape: [1] }],
  };
  const broken: OpCall = { name: "Transpose", inputs: [float(2, 3)], outputs: [float(3, 2)], attributes: {} };
  const otherShape: OpCall = { ...relu, outputs: [float(9)] };
  const wrongInputs: OpCall = { ...relu, inputs: [float(8), float(8)] };
  const calls = [add, unknown, large, large, strings, text, broken, otherShape, wrongInputs];
  const device = deviceSpec("t4");
  const { trace, notMeasured } = await benchmarkTrace(traceOf(calls), { ...quick, maxBytes: 1000, device });
  expect(notMeasured).toEqual([
    { kernel: "NotAKernel", reason: "backend 'cpu' does not have it", calls: 1, ops: 1 },
    { kernel: "Relu", reason: "its tensors take 7.813 KiB, more than the 1000 B allowed", calls: 1, ops: 2 },
    { kernel: "StringSplit", reason: "its inputs cannot be made up", calls: 1, ops: 1 },
    { kernel: "Identity", reason: "values of dtype string cannot be made up", calls: 1, ops: 1 },
    { kernel: "Transpose", reason: expect.stringMatching(/^it failed: /), calls: 1, ops: 1 },
    { kernel: "Relu", reason: "it made outputs of the shapes [[8]] where the trace has [[9]]", calls: 1, ops: 1 },
    { kernel: "Relu", reason: "it has 2 inputs where x were expected", calls: 1, ops: 1 },
  ]);
  const roofline = priceTrace(traceOf(calls), device);
  expect(Array.from(trace.ops.runtimeSource)).toEqual([
    RuntimeSource.measured,
    ...calls.slice(1).map(() => RuntimeSource.roofline),
  ]);
  expect(trace.ops.runtimeMs.slice(1)).toEqual(roofline.ops.runtimeMs.slice(1));
  expect(trace.header.notes).toEqual([
    "8 of 9 ops were not measured but priced by the roofline model of 't4': NotAKernel, Relu, StringSplit, Identity, Transpose",
  ]);
});

describe("the cache", () => {
  test("answers the second time, from its JSON too, for the same environment", async () => {
    const cache = new BenchmarkCache();
    const first = await benchmarkTrace(traceOf([add, relu]), { ...quick, cache });
    expect([first.measuredCalls, first.cachedCalls, cache.size]).toEqual([2, 0, 2]);
    const again = BenchmarkCache.parse(JSON.stringify(cache));
    const second = await benchmarkTrace(traceOf([relu, add]), { ...quick, cache: again });
    expect([second.measuredCalls, second.cachedCalls]).toEqual([0, 2]);
    expect(second.trace.ops.runtimeMs).toEqual(first.trace.ops.runtimeMs.slice().reverse());
    const elsewhere = await benchmarkTrace(traceOf([add]), { ...quick, cache: again, environment: "another machine" });
    expect([elsewhere.environment, elsewhere.measuredCalls, again.size]).toEqual(["another machine", 1, 3]);
  });

  test.each<[string, string, RegExp]>([
    ["no JSON", "{", /not JSON \(at line 1, column 2\)\. Delete the file/],
    ["another file", '{"format":"x"}', /found format "x", expected 'remat-benchmark\/1'/],
    ["a list", "[]", /found format undefined/],
    ["environments of another type", '{"format":"remat-benchmark/1","environments":[]}', /'environments' is \[\]/],
    ["calls of another type", '{"format":"remat-benchmark/1","environments":{"e":null}}', /"e" is null/],
    ["an endless time", '{"format":"remat-benchmark/1","environments":{"e":{"a":{"medianMs":1e999}}}}', /"a" is/],
    ["deep nesting", `{"format":${"[".repeat(100_000)}`, /nested more than 1000 levels deep/],
    [
      "a damaged entry",
      '{"format":"remat-benchmark/1","environments":{"e":{"Add":{"medianMs":"1"}}}}',
      /"Add" is .*expected medianMs, spreadMs and runs/,
    ],
  ])("refuses %s", (_, json, message) => expect(() => BenchmarkCache.parse(json)).toThrow(message));

  test("is kept by backend, version and processor", () => {
    expect(describeEnvironment()).toMatch(/^cpu, tfjs 4\.22\.0; \d+ × .+; node \d+\./);
  });
});

test("stops when aborted, and keeps what it has measured", async () => {
  const controller = new AbortController();
  const cache = new BenchmarkCache();
  const onProgress = () => controller.abort(new Error("stopped by the user"));
  const run = benchmarkTrace(traceOf([add, relu]), { ...quick, cache, signal: controller.signal, onProgress });
  await expect(run).rejects.toThrow("stopped by the user");
  expect(cache.size).toBe(1);
});

describe("refuses", () => {
  test("a trace of another framework", async () => {
    const trace = traceOf([add], "pytorch");
    await expect(benchmarkTrace(trace)).rejects.toThrow(
      new RematError(
        "BENCHMARK_FRAMEWORK",
        "timing ops of PyTorch is not supported here. Estimate them with --mode operator-level-cost-model --device a100 (priceTrace in code), or time them in Python with remat.record_step.",
      ),
    );
  });

  test("a fake backend", async () => {
    const name = "stands-for-cpu";
    tf.registerBackend(
      name,
      () =>
        ({
          standsFor: "cpu",
          floatPrecision: () => 32,
          dispose: () => {},
          numDataIds: () => 0,
        }) as unknown as tf.KernelBackend,
    );
    await tf.setBackend(name);
    try {
      await expect(benchmarkTrace(traceOf([add]))).rejects.toThrow(/backend 'stands-for-cpu' does not compute/);
    } finally {
      await useCpu();
      tf.removeBackend(name);
    }
  });
});

test("waits for the results of a backend that computes them later", async () => {
  const name = "later";
  const reads: number[] = [];
  const cpu = tf.findBackend("cpu");
  const later = new (cpu.constructor as new () => tf.KernelBackend)();
  const read = later.read.bind(later);
  later.read = async (dataId) => {
    const values = await read(dataId);
    reads.push(values.length);
    return values;
  };
  tf.registerBackend(name, () => later);
  tf.copyRegisteredKernels("cpu", name);
  await tf.setBackend(name);
  try {
    const complex = { dtype: "complex64", shape: [4] };
    const fft: OpCall = {
      name: "FFT",
      inputs: [{ dtype: "complex64", shape: [1, 4] }],
      outputs: [{ dtype: "complex64", shape: [1, 4] }],
    };
    const empty: OpCall = { name: "Relu", inputs: [float(0)], outputs: [float(0)] };
    const { notMeasured } = await benchmarkTrace(
      traceOf([add, empty, { name: "Real", inputs: [complex], outputs: [float(4)] }, fft]),
      quick,
    );
    expect(notMeasured).toEqual([]);
    expect(later.numDataIds()).toBe(0);
    // One element of a float tensor, both parts of a complex one, and no element of an empty one.
    expect(new Set(reads)).toEqual(new Set([1, 8]));
  } finally {
    await useCpu();
    tf.removeBackend(name);
  }
});
