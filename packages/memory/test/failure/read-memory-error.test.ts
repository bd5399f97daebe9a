import { describe, expect, it } from "vitest";
import { readMemoryError } from "../../src/failure/index.js";

describe("memory facts in an error message", () => {
  it.each([
    [
      "Error: Invalid TF_Status: 8\nMessage: OOM when allocating tensor with shape[20,3] and type float on /job:localhost/replica:0/task:0/device:CPU:0 by allocator mklcpu",
      { cause: "kernel", dtype: "float32", shape: [20, 3], askedBytes: 240 },
    ],
    [
      "OOM when allocating tensor with shape[7] and type int32 on /device:GPU:0 by allocator GPU_0_bfc",
      { cause: "kernel", dtype: "int32", shape: [7], askedBytes: 28 },
    ],
    [
      "OOM when allocating tensor with shape[] and type double",
      { cause: "kernel", dtype: "float64", shape: [], askedBytes: 8 },
    ],
    ["OOM when allocating tensor with shape[2] and type resource", { cause: "kernel", dtype: "resource", shape: [2] }],
    ["RangeError: Array buffer allocation failed", { cause: "array" }],
    ["RangeError: Invalid typed array length: 1099511627776", { cause: "array" }],
    ["RangeError: Invalid array buffer length", { cause: "array" }],
    ["RuntimeError: memory access out of bounds", { cause: "wasm" }],
    ["RangeError: WebAssembly.Memory.grow(): Maximum memory size exceeded", { cause: "wasm" }],
    [
      "Error [ERR_WORKER_OUT_OF_MEMORY]: Worker terminated due to reaching memory limit: JS heap out of memory",
      { cause: "heap" },
    ],
    ["TypeError: x.matMul is not a function", undefined],
    ["RangeError: Maximum call stack size exceeded", undefined],
    ["RangeError: Invalid array length", undefined],
    ["RangeError: Invalid typed array length: -4", undefined],
    ["Error: The shape of tensor does not fit", undefined],
  ])("%s", (message, told) => {
    expect(readMemoryError(message)).toEqual(told);
  });
});
