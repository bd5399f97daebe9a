import { allKernels, type Infer } from "../kernels/index.js";
import type { BackendKernels } from "./backend.js";

/**
 * Returns what every kernel returns on a backend, and what it allocates and releases on the way, in that order. *Scratch* is what a kernel holds
 * besides its inputs and outputs while it runs (T3): copies that were cast or transposed, partial results, constants for its own use. Only
 * what is in the backend's `DataStorage` counts, here as in the hook.
 */
export function kernelRules({ outputs, scratch }: BackendKernels): ReadonlyMap<string, Infer> {
  return new Map([...allKernels, ...Object.entries(outputs), ...Object.entries(scratch)]);
}

/** Returns the kernels that fake mode knows and a backend has. */
export const kernelsOf = ({ lacks }: BackendKernels): readonly string[] =>
  [...allKernels.keys()].filter((name) => !lacks.has(name));
