import type { Backend } from "../backend.js";
import { type DataEntry, requestedBytes } from "../data-entry.js";
import { libraryBytes } from "./library-bytes.js";
import { nativeResidency } from "./residency.js";
import { restoreUtil } from "./restore-util.js";
import { tensorflowSharing } from "./sharing.js";

/** The part of `tensorflow/core/framework/types.proto` that tfjs-node uses. */
const dtypes: Readonly<Record<number, string>> = {
  1: "float32",
  3: "int32",
  4: "uint8",
  7: "string",
  8: "complex64",
  9: "int64",
  10: "bool",
};

/** TensorFlow's GPU allocator rounds up to this (`BFCAllocator::kMinAllocationSize`). */
const gpuUnitBytes = 256;

const isOnGpu = (instance: object | undefined): boolean =>
  (instance as { readonly isUsingGpuDevice?: boolean } | undefined)?.isUsingGpuDevice === true;

const keepsFreedMemory =
  "TensorFlow keeps freed memory, unless the process starts with remat's allocator. Use `remat exec --budget <size> -- node <program>`, or start the program with the line LD_PRELOAD=… that `remat doctor` prints.";

/** Returns whether the process was started with the environment of `allocatorEnvironment` in `@remat/cli/native`. */
const startsWithAllocator = (): boolean => {
  const { process } = globalThis as { readonly process?: Partial<NodeJS.Process> };
  return process?.env?.["LD_PRELOAD"]?.includes("/caching-allocator.so") === true;
};

/** TensorFlow through tfjs-node or tfjs-node-gpu, which TensorFlow.js calls `tensorflow`. */
export const native: Backend = {
  name: "tensorflow",
  alias: "native",
  priority: 3,
  packages: [
    {
      name: "@tensorflow/tfjs-node-gpu",
      built: { by: "remat setup native --gpu", as: "tfjs-node-gpu" },
      withoutGpu: {
        reason: "TensorFlow found no CUDA device, so it runs on the CPU",
        fix: 'pip install "tensorflow[and-cuda]"',
      },
    },
    { name: "@tensorflow/tfjs-node", built: { by: "remat setup native", as: "tfjs-node" } },
  ],
  kernels: "tensorflow",
  sharing: tensorflowSharing,
  residency: nativeResidency,
  get keepsFreedMemory() {
    return startsWithAllocator() ? undefined : keepsFreedMemory;
  },
  libraryBytes,
  bytesOf: (entry: DataEntry) =>
    requestedBytes(entry, typeof entry.dtype === "number" ? (dtypes[entry.dtype] ?? "") : entry.dtype),
  deviceOf(instance) {
    return isOnGpu(instance)
      ? { device: "cuda:0", allocationUnitBytes: gpuUnitBytes, isAsynchronous: true }
      : { device: "cpu", allocationUnitBytes: 1, isAsynchronous: false };
  },
  // TensorFlow's CPU kernel processes the rows in order. The GPU kernel adds them by atomics, in an unspecified order.
  addsSegmentsInOrder: (instance) => !isOnGpu(instance),
  // CUDA kernels add up to nine inputs in one expression, from left to right. They flush denormal numbers, as the kernel
  // of `AddV2` does. With more inputs, they add up each group of eight first, and then add it to the sum.
  mostAddedInOrder: (instance) => (isOnGpu(instance) ? 9 : 0),
  prepare: restoreUtil,
};
