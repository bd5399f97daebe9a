import type { SACStats } from "@remat/sac-core";
import type { Trace } from "@remat/trace";

/**
 * Returns the positions, among a module's ops, of those that autograd saves memory of that no earlier op in the list
 * has. A storage written in place counts once, however many ops have it as their result. PyTorch counts each op.
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
