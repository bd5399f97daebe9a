import type { CallPart } from "./call-parts.js";
import type { CheckpointPolicy } from "./checkpoint-policy.js";
import type { CheckpointableUnits } from "./checkpointable-units.js";

/** The mode of each module call: 0 for no checkpointing, 1 for full, 2 for selective. */
export interface CallModes {
  readonly mode: Uint8Array;
  /** For each op, 1 if its selectively checkpointed call saves the result. */
  readonly isSaved: Uint8Array;
  /** The parts of calls that run again, in order. */
  readonly parts: readonly CallPart[];
  /** The calls that the policy splits into parts, whether or not the parts can run again. */
  readonly callsInParts: ReadonlySet<number>;
  /** The number of ops in calls with parts. Each op is identified as it runs, which takes time. */
  readonly countedOps: number;
}

/** Returns what a policy does to each module call and op. @internal */
export function callModes(units: CheckpointableUnits, policy: CheckpointPolicy, opCount: number): CallModes {
  const mode = new Uint8Array(units.args.length);
  const isSaved = new Uint8Array(opCount);
  const parts: CallPart[] = [];
  const callsInParts = new Set<number>();
  for (const { fqn, saved, ops: part } of policy)
    for (const call of units.callsOf.get(fqn) ?? []) {
      const ops = units.opsOf[call];
      if (part !== undefined) {
        callsInParts.add(call);
        const found = units.partOf(call, ...part);
        if (typeof found !== "string") parts.push(found);
        continue;
      }
      mode[call] = saved.length > 0 ? 2 : 1;
      for (const place of saved) if (place < ops.length) isSaved[ops[place]] = 1;
    }
  parts.sort((a, b) => a.begin - b.begin);
  const countedOps = [...callsInParts].reduce((sum, call) => sum + units.opsOf[call].length, 0);
  return { mode, isSaved, parts, callsInParts, countedOps };
}
