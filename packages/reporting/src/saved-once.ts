import type { SACStats } from "@remat/sac-core";
import type { Trace } from "@remat/trace";

/**
 * Returns the places, among the ops of a module, of those that autograd holds something of which no op before them in the list holds: what is
 * written in place is one storage, however many ops have it for their result. PyTorch counts each op.
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
