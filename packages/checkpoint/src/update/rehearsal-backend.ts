import { currentBackend } from "@remat/dispatch-hook";
import { type Backend, fullestBackend, isFakeableHere } from "@remat/dispatch-hook/backends";

/**
 * Returns the backend to simulate in a rehearsal: the current one or, if fake mode does not support it, another. An
 * update runs the same ops on every backend. @internal
 */
export function rehearsalBackend(): Backend {
  const current = currentBackend();
  return isFakeableHere(current) ? current : fullestBackend();
}

/** An unknown kernel may copy its inputs and outputs to change their layout: three tensors at most. */
const copiesOfKernel = 3;

/**
 * Returns an allowance for unknown scratch memory, in bytes. `largestBytes` is the largest tensor of the rehearsal.
 * @internal
 */
export const unknownScratchBytes = (largestBytes: number): number =>
  isFakeableHere(currentBackend()) ? 0 : copiesOfKernel * largestBytes;
