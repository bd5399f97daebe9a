import type { Backend } from "../backend.js";
import { gpuBytes } from "../gpu-bytes.js";
import { alwaysWhole } from "../sharing-rules.js";
import { bufferCache } from "./buffer-cache.js";
import { webgpuResidency } from "./residency.js";
import { webgpuWithoutDevice } from "./without-device.js";

/**
 * WebGPU, read in tfjs-backend-webgpu 4.22.0. `Identity`, `Reshape` and `ExpandDims` return their input's `DataId`; everything else, slices too, is
 * a buffer of its own. Buffers are recycled by size: what is freed is not given back.
 */
export const webgpu: Backend = {
  name: "webgpu",
  priority: 3,
  kernels: {
    unknown:
      "its kernels are in no table, and run without a GPU only once tf.setBackend('webgpu') has started it in a page",
  },
  sharing: new Map([
    ["Identity", alwaysWhole("x")],
    ["Reshape", alwaysWhole("x")],
    ["ExpandDims", alwaysWhole("input")],
  ]),
  residency: webgpuResidency,
  freedMemory: bufferCache,
  withoutDevice: webgpuWithoutDevice,
  bytesOf: gpuBytes,
  // By atomics: gradients of `gather`, scattered sums, matrix products of few rows and columns over more than 2,000 elements (`matmul_splitK_webgpu.ts`).
  programs: {
    runBy: "runWebGPUProgram",
    addsInAnyOrder: (program) => (program as { readonly atomic?: boolean }).atomic === true,
  },
  deviceOf: () => ({ device: "webgpu:0", allocationUnitBytes: 1, isAsynchronous: true }),
};
