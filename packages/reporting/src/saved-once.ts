import type { SACStats } from "@remat/sac-core";
import type { Trace } from "@remat/trace";

/**
 * Returns the positions of the ops of a module whose results autograd saves, without ops whose results earlier ops in
 * the list also have. A storage that is written in place therefore counts once, even if several ops have it as their
 * result. PyTorch counts it for each op.
 */
export function savedOnce(trace: Trace, { ops, memoryBytes, savedAutogradOps }: SACStats): number[] {
  const isMet = new Set<number>();
  return Array.from(savedAutogradOps).filter((place) => {
    if (memoryBytes[place] === 0) return false;
    let isNew = false;
    for (const tensor of trace.opOutputs(ops[place]))
      for (const storage of trace.tensorStorages(tensor)) {
        isNew ||= !isMet.has(storage);
        isMet.add(storage);
      }
    return isNew;
  });
}
