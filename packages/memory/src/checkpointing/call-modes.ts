import type { CheckpointPolicy } from "./checkpoint-policy.js";
import type { CheckpointableUnits } from "./checkpointable-units.js";
import type { CallModes } from "./simulate-checkpoints.js";

/** Returns what a policy does to each module call and op. @internal */
export function callModes(units: CheckpointableUnits, policy: CheckpointPolicy, opCount: number): CallModes {
  const mode = new Uint8Array(units.args.length);
  const isSaved = new Uint8Array(opCount);
  for (const { fqn, saved } of policy)
    for (const call of units.callsOf.get(fqn) ?? []) {
      mode[call] = saved.length > 0 ? 2 : 1;
      const ops = units.opsOf[call];
      for (const place of saved) if (place < ops.length) isSaved[ops[place]] = 1;
    }
  return { mode, isSaved };
}
