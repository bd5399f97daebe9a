import * as kernelNames from "@tensorflow/tfjs-core/dist/kernel_names.js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bytesOf, flopsOf, type OpCall, opCost } from "../../src/index.js";
import { kernelFormulas } from "../../src/tfjs/tfjs-cost.js";

const float = (...shape: number[]) => ({ dtype: "float32", shape });

test("every kernel of tfjs has a formula", () => {
  const kernels = Object.values<unknown>({ ...kernelNames }).filter((name) => typeof name === "string");
  expect(kernels.length).toBeGreaterThan(170);
  expect(kernels.filter((kernel) => !kernelFormulas.has(kernel))).toEqual([]);
});

test("FLOPs of every kernel are finite and not negative on any shapes", () => {
  const tensors = fc.array(
    fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 5 }).map((shape) => float(...shape)),
    { maxLength: 5 },
  );
  for (const name of kernelFormulas.keys())
    fc.assert(
      fc.property(tensors, tensors, (inputs, outputs) => {
        const { flops, bytesRead, bytesWritten } = opCost({ name, inputs, outputs }, "tfjs");
        for (const value of [flops, bytesRead, bytesWritten]) expect(value).toBeGreaterThanOrEqual(0);
      }),
      { numRuns: 20 },
    );
});

describe("views are free", () => {
  test.each(["Reshape", "ExpandDims"])("%s, on any backend", (name) => {
    const call = { name, inputs: [float(4, 4)], outputs: [float(16)] };
    expect(opCost(call, "tfjs")).toMatchObject({ flops: 0, bytesRead: 0, bytesWritten: 0 });
  });
  test("any kernel whose outputs are on its inputs' storages, and no other", () => {
    const call = { name: "Identity", inputs: [float(4)], outputs: [float(4)] };
    expect(bytesOf({ ...call, view: true }, "tfjs")).toEqual({ bytesRead: 0, bytesWritten: 0 });
    expect(bytesOf(call, "tfjs")).toEqual({ bytesRead: 16, bytesWritten: 16 });
  });
});

describe("bytes", () => {
  const indices = { dtype: "int32", shape: [10] };
  const cases: [string, OpCall, number, number][] = [
    ["each input and output once", { name: "Add", inputs: [float(3, 4), float(4)], outputs: [float(3, 4)] }, 64, 48],
    [
      "a tensor passed twice counts twice",
      { name: "Multiply", inputs: [float(4), float(4)], outputs: [float(4)] },
      32,
      16,
    ],
    [
      "a gather reads the rows it takes",
      { name: "GatherV2", inputs: [float(1000, 8), indices], outputs: [float(10, 8)] },
      360,
      320,
    ],
    ["a slice reads what it keeps", { name: "Slice", inputs: [float(1000)], outputs: [float(10)] }, 40, 40],
    ["zeros are written only", { name: "ZerosLike", inputs: [float(100)], outputs: [float(100)] }, 0, 400],
    ["bool is a byte", { name: "Cast", inputs: [float(8)], outputs: [{ dtype: "bool", shape: [8] }] }, 32, 8],
    [
      "an expanded dimension counts once",
      { name: "Relu", inputs: [{ ...float(5, 4), strides: [0, 1] }], outputs: [float(5, 4)] },
      16,
      80,
    ],
  ];
  test.each(cases)("%s", (_, call, bytesRead, bytesWritten) => {
    expect(bytesOf(call, "tfjs")).toEqual({ bytesRead, bytesWritten });
  });
});

describe("FLOPs per element", () => {
  const cases: [string, OpCall, number][] = [
    ["Add over the broadcast output", { name: "Add", inputs: [float(3, 1), float(4)], outputs: [float(3, 4)] }, 12],
    ["AddN", { name: "AddN", inputs: [float(4), float(4), float(4)], outputs: [float(4)] }, 8],
    ["a special function", { name: "Exp", inputs: [float(4)], outputs: [float(4)] }, 32],
    ["Sum over its input", { name: "Sum", inputs: [float(3, 4)], outputs: [float(3)] }, 12],
    ["Mean divides", { name: "Mean", inputs: [float(3, 4)], outputs: [float(3)] }, 15],
    [
      "FFT",
      {
        name: "FFT",
        inputs: [{ dtype: "complex64", shape: [2, 8] }],
        outputs: [{ dtype: "complex64", shape: [2, 8] }],
      },
      240,
    ],
    ["a transpose computes nothing", { name: "Transpose", inputs: [float(3, 4)], outputs: [float(4, 3)] }, 0],
    [
      "FusedBatchNorm",
      { name: "FusedBatchNorm", inputs: [float(2, 3), float(3), float(3)], outputs: [float(2, 3)] },
      51,
    ],
  ];
  test.each(cases)("%s", (_, call, flops) => expect(flopsOf(call, "tfjs")).toBe(flops));
});
