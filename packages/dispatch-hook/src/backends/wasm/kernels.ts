import { commonTraits } from "../../kernels/kernel-traits.js";
import type { BackendKernels } from "../backend.js";
import { wasmOutputs } from "./outputs.js";
import { wasmScratch } from "./scratch.js";

/** Kernels that it lacks even with those of `provideGradientKernels`. */
const lacking =
  "Complex ComplexAbs Draw Einsum FFT IFFT Imag RaggedGather RaggedRange RaggedTensorToTensor Real StaticRegexReplace";

/** The kernels of the backend in WebAssembly. */
export const wasmKernels: BackendKernels = {
  lacks: new Set(lacking.split(/\s+/)),
  traits: { ...commonTraits, identityShares: false, averagesInFloat32: true, stridesInFloat32: true },
  outputs: wasmOutputs,
  scratch: wasmScratch,
};
