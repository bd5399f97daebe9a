import { type Backend, type BackendKernels, isKnown, type KernelTable, type Unknown } from "./backend.js";
import { cpuKernels } from "./cpu/kernels.js";
import { tensorflowKernels } from "./native/kernels.js";
import { wasmKernels } from "./wasm/kernels.js";

/** A third of the code that early release alone would have a page load, so that backends only name theirs. */
const kernelTables: Readonly<Record<KernelTable, BackendKernels | Unknown>> = {
  cpu: cpuKernels,
  tensorflow: tensorflowKernels,
  wasm: wasmKernels,
};

/**
 * Returns which kernels a backend has, and what they return and hold.
 *
 * @example
 * kernelsOfBackend(findBackend("webgl")); // { unknown: "its kernels are in no table, …" }
 */
export const kernelsOfBackend = ({ kernels }: Pick<Backend, "kernels">): BackendKernels | Unknown =>
  typeof kernels === "string" ? kernelTables[kernels] : kernels;

/**
 * Tells whether the kernels of a backend are in a table.
 *
 * @example
 * nameBackends(hasKnownKernels); // "cpu, tensorflow (native) or wasm"
 */
export const hasKnownKernels = (backend: Pick<Backend, "kernels">): boolean => isKnown(kernelsOfBackend(backend));
