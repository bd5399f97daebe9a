import { allKernels, type Infer } from "../kernels/index.js";
import type { BackendKernels } from "./backend.js";

/**
 * Returns the outputs of every kernel on a backend, and its allocations and releases in order. *Scratch* is the memory
 * of a kernel beyond inputs and outputs while it runs (T3): cast or transposed copies, partial results, internal
 * constants. Only data in the backend's `DataStorage` counts, here and in the hook.
 */
export function kernelRules({ outputs, scratch }: BackendKernels): ReadonlyMap<string, Infer> {
  return new Map([...allKernels, ...Object.entries(outputs), ...Object.entries(scratch)]);
}

/** Returns the kernels that fake mode knows and a backend has. */
export const kernelsOf = ({ lacks }: BackendKernels): readonly string[] =>
  [...allKernels.keys()].filter((name) => !lacks.has(name));
