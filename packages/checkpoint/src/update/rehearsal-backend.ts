import { currentBackend } from "@remat/dispatch-hook";
import { type Backend, fullestBackend, isFakeableHere } from "@remat/dispatch-hook/backends";

/** Returns the backend that a rehearsal of an update stands for: the current one, or, where fake mode cannot, another: an update is of the same ops on every backend. @internal */
export function rehearsalBackend(): Backend {
  const current = currentBackend();
  return isFakeableHere(current) ? current : fullestBackend();
}

/** Where its kernels are not known, one may copy what it reads and what it makes, to lay it out otherwise: three tensors at most. */
const copiesOfKernel = 3;

/** Returns what is to be allowed for beyond what a rehearsal has counted, in which `largestBytes` was the largest that was made. @internal */
export const unknownScratchBytes = (largestBytes: number): number =>
  isFakeableHere(currentBackend()) ? 0 : copiesOfKernel * largestBytes;
