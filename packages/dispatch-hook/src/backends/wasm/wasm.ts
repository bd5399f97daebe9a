import { getKernel } from "@tensorflow/tfjs-core";
import type { Backend } from "../backend.js";
import { requestedBytes } from "../data-entry.js";
import { isProvided, provideGradientKernels } from "./gradients/provide-gradient-kernels.js";
import { wasmResidency } from "./residency.js";
import { wasmSharing } from "./sharing.js";

/** The backend in WebAssembly. */
export const wasm: Backend = {
  name: "wasm",
  priority: 2,
  packages: [{ name: "@tensorflow/tfjs-backend-wasm" }],
  kernels: "wasm",
  sharing: wasmSharing,
  residency: wasmResidency,
  bytesOf: (entry) => requestedBytes(entry),
  deviceOf: () => ({ device: "cpu", allocationUnitBytes: 1, isAsynchronous: false }),
  // Our own kernel does. It is used if no other one is registered.
  addsSegmentsInOrder: () => getKernel("UnsortedSegmentSum", "wasm") === undefined || isProvided("UnsortedSegmentSum"),
  provideGradientKernels,
  isProvided,
};
