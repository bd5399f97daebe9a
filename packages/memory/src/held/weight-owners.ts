import { row, type Trace } from "@remat/trace";

/**
 * Returns for each storage the name of the innermost module that has it among its parameters or buffers, if the trace
 * records the weights of modules.
 */
export function weightOwners(trace: Trace): ReadonlyMap<number, string> {
  const { weights, modules } = trace;
  const owners = new Map<number, string>();
  for (let i = 0; i < weights.count; i++) {
    const { fqn } = modules[weights.module[i]];
    for (const tensors of [weights.parameters, weights.buffers])
      for (const tensor of row(tensors, i))
        for (const storage of trace.tensorStorages(tensor)) {
          const known = owners.get(storage);
          // Enclosing modules have it as well. If unrelated modules share it, the first one counts.
          if (known === undefined || fqn.startsWith(`${known}.`)) owners.set(storage, fqn);
        }
  }
  return owners;
}
