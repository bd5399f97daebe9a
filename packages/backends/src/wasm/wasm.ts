import { commonTraits } from "@remat/kernels";
import { getKernel } from "@tensorflow/tfjs-core";
import type { Backend } from "../backend.js";
import { requestedBytes } from "../data-entry.js";
import { isProvided, provideGradientKernels } from "./gradients/provide-gradient-kernels.js";
import { wasmOutputs } from "./outputs.js";
import { wasmResidency } from "./residency.js";
import { wasmScratch } from "./scratch.js";
import { wasmSharing } from "./sharing.js";

/** With what `provideGradientKernels` gives it. */
const lacking =
  "Complex ComplexAbs Draw Einsum FFT IFFT Imag RaggedGather RaggedRange RaggedTensorToTensor Real StaticRegexReplace";

/** The backend in WebAssembly. */
export const wasm: Backend = {
  name: "wasm",
  priority: 2,
  packages: [{ name: "@tensorflow/tfjs-backend-wasm" }],
  kernels: {
    lacks: new Set(lacking.split(/\s+/)),
    traits: { ...commonTraits, identityShares: false, averagesInFloat32: true, stridesInFloat32: true },
    outputs: wasmOutputs,
    scratch: wasmScratch,
  },
  sharing: wasmSharing,
  residency: wasmResidency,
  bytesOf: (entry) => requestedBytes(entry),
  deviceOf: () => ({ device: "cpu", allocationUnitBytes: 1, isAsynchronous: false }),
  // Ours does, which it will be if there is none yet.
  addsSegmentsInOrder: () => getKernel("UnsortedSegmentSum", "wasm") === undefined || isProvided("UnsortedSegmentSum"),
  provideGradientKernels,
  isProvided,
};
