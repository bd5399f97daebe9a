import { type Backend, type BackendKernels, isKnown, type KernelTable, type Unknown } from "./backend.js";
import { cpuKernels } from "./cpu/kernels.js";
import { tensorflowKernels } from "./native/kernels.js";
import { wasmKernels } from "./wasm/kernels.js";

/**
 * Kernel tables are a third of the code that early release would load in a page. So backends refer to their tables by
 * name.
 */
const kernelTables: Readonly<Record<KernelTable, BackendKernels | Unknown>> = {
  cpu: cpuKernels,
  tensorflow: tensorflowKernels,
  wasm: wasmKernels,
};

/**
 * Returns the kernels of a backend, with their outputs and scratch memory.
 *
 * @example
 * kernelsOfBackend(findBackend("webgl")); // { unknown: "its kernels are known only after …" }
 */
export const kernelsOfBackend = ({ kernels }: Pick<Backend, "kernels">): BackendKernels | Unknown =>
  typeof kernels === "string" ? kernelTables[kernels] : kernels;

/**
 * Returns whether the kernels of a backend are in a table.
 *
 * @example
 * nameBackends(hasKnownKernels); // "cpu, tensorflow (native) or wasm"
 */
export const hasKnownKernels = (backend: Pick<Backend, "kernels">): boolean => isKnown(kernelsOfBackend(backend));
