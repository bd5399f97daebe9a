import type { Backend } from "../backend.js";
import { gpuBytes } from "../gpu-bytes.js";
import { alwaysWhole } from "../sharing-rules.js";
import { bufferCache } from "./buffer-cache.js";
import { webgpuResidency } from "./residency.js";
import { webgpuWithoutDevice } from "./without-device.js";

/**
 * WebGPU, from the source of tfjs-backend-webgpu 4.22.0. `Identity`, `Reshape` and `ExpandDims` return their input's
 * `DataId`. All other outputs, including slices, have their own buffer. Freed buffers are kept for reuse by size.
 */
export const webgpu: Backend = {
  name: "webgpu",
  priority: 3,
  kernels: {
    unknown: "its kernels are known only after tf.setBackend('webgpu') has started it in a page",
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
  // These use atomics: gradients of `gather`, scattered sums, and matrix products with few rows and columns over more
  // than 2,000 elements (`matmul_splitK_webgpu.ts`).
  programs: {
    runBy: "runWebGPUProgram",
    addsInAnyOrder: (program) => (program as { readonly atomic?: boolean }).atomic === true,
  },
  deviceOf: () => ({ device: "webgpu:0", allocationUnitBytes: 1, isAsynchronous: true }),
};
