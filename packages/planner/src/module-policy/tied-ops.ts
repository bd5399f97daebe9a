import type { SACStats } from "@remat/sac-core";
import { RematError } from "@remat/trace";

/** Groups of ops that are stored or recomputed together, in columns. */
export interface TiedOps {
  readonly count: number;
  /** For each op, its group. Groups are numbered by their first op. */
  readonly group: Int32Array;
  /** For each group, its total memory and runtime. */
  readonly memoryBytes: Float64Array;
  readonly runtimeMs: Float64Array;
  /** For each group, 1 if it must be stored, 0 if it must be recomputed, -1 if there is a choice. */
  readonly fate: Int8Array;
}

/**
 * Groups the ops about which a policy decides together. Random ops draw from one generator, so all are stored or all
 * are recomputed. If `forceStoreRandom` is set, they are stored. An in-place op belongs to the op whose result it
 * writes into, and is stored if it writes into an argument of the module. Views are recomputed.
 *
 * @throws RematError `POLICY_INPUT` if an op that must be stored is tied to one that must be recomputed
 */
export function tieOps(stats: SACStats): TiedOps {
  const ops = stats.memoryBytes.length;
  const parent = Int32Array.from({ length: ops }, (_, op) => op);
  const find = (op: number): number => {
    let root = op;
    while (parent[root] !== root) root = parent[root];
    for (let at = op; at !== root; ) [parent[at], at] = [root, parent[at]];
    return root;
  };
  const tie = (a: number, b: number): void => {
    const [first, second] = [find(a), find(b)];
    parent[Math.max(first, second)] = Math.min(first, second);
  };
  if (!stats.forceStoreRandom) for (const op of stats.randOps) tie(op, stats.randOps[0]);
  for (const [i, op] of stats.inplaceOps.entries()) tie(op, stats.inplaceParents[i]);

  const group = new Int32Array(ops);
  let count = 0;
  for (let op = 0; op < ops; op++) group[op] = find(op) === op ? count++ : group[parent[op]];
  const memoryBytes = new Float64Array(count);
  const runtimeMs = new Float64Array(count);
  for (let op = 0; op < ops; op++) {
    memoryBytes[group[op]] += stats.memoryBytes[op];
    runtimeMs[group[op]] += stats.runtimesMs[op];
  }

  const fate = new Int8Array(count).fill(-1);
  /** For each group, the op that determined its fate. */
  const because = new Int32Array(count);
  const decide = (op: number, value: 0 | 1): void => {
    const at = group[op];
    if (fate[at] === 1 - value)
      throw contradiction(stats, value === 1 ? op : because[at], value === 1 ? because[at] : op);
    fate[at] = value;
    because[at] = op;
  };
  if (stats.forceStoreRandom) for (const op of stats.randOps) decide(op, 1);
  for (const [i, op] of stats.inplaceOps.entries()) if (op === stats.inplaceParents[i]) decide(op, 1);
  for (const op of stats.viewLikeOps) decide(op, 0);
  return { count, group, memoryBytes, runtimeMs, fate };
}

function contradiction({ funcNames, randOps }: SACStats, stored: number, recomputed: number): RematError {
  const why = randOps.includes(stored)
    ? "a random op that has to be stored"
    : "an in-place op on an argument, which has to be stored";
  const same =
    stored === recomputed ? "is a view as well" : `is tied to op ${recomputed} (${funcNames[recomputed]}), a view`;
  return new RematError(
    "POLICY_INPUT",
    `module policy: op ${stored} (${funcNames[stored]}) is ${why}, but ${same}, which is always recomputed. Remove one of the two from the statistics.`,
  );
}
