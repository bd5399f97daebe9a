import { row, type Trace } from "@remat/trace";

/** Returns by storage the name of the innermost module of whose parameters or buffers it is one, as far as modules tell of their weights. */
export function weightOwners(trace: Trace): ReadonlyMap<number, string> {
  const { weights, modules } = trace;
  const owners = new Map<number, string>();
  for (let i = 0; i < weights.count; i++) {
    const { fqn } = modules[weights.module[i]];
    for (const tensors of [weights.parameters, weights.buffers])
      for (const tensor of row(tensors, i))
        for (const storage of trace.tensorStorages(tensor)) {
          const known = owners.get(storage);
          // The modules around it have it, too; of others that share it the first counts.
          if (known === undefined || fqn.startsWith(`${known}.`)) owners.set(storage, fqn);
        }
  }
  return owners;
}
