import { allKernels, type Infer, type InferTable } from "@remat/kernels";
import { cpuScratch } from "./cpu/scratch.js";
import { tensorflowScratch } from "./native/scratch.js";
import { wasmOutputs } from "./wasm/outputs.js";
import { wasmScratch } from "./wasm/scratch.js";

/** A backend that fake mode can stand for; `tensorflow` is native, on a CPU or a GPU. */
export type FakeBackendName = "cpu" | "wasm" | "tensorflow";

const scratchOf: Readonly<Record<FakeBackendName, InferTable>> = {
  cpu: cpuScratch,
  wasm: wasmScratch,
  tensorflow: tensorflowScratch,
};

/** Kernels that are known to make scratch on `backend`. @internal */
export const scratchKernels = (backend: FakeBackendName): readonly string[] => Object.keys(scratchOf[backend]);

/**
 * What every kernel returns on `backend`, and what it allocates and releases on the way, in that order. *Scratch* is what a kernel holds
 * besides its inputs and outputs while it runs (T3): copies that were cast or transposed, partial results, constants for its own use. Only
 * what is in the backend's `DataStorage` counts, here as in the hook. @internal
 */
export function kernelRules(backend: FakeBackendName): ReadonlyMap<string, Infer> {
  const others = backend === "wasm" ? Object.entries(wasmOutputs) : [];
  return new Map([...allKernels, ...others, ...Object.entries(scratchOf[backend])]);
}
