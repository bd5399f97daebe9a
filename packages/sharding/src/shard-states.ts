import { Trace } from "@remat/trace";
import { rootModule } from "./match-modules.js";
import { parameterGroups } from "./parameter-groups.js";
import { ShardSizes } from "./shard-sizes.js";
import { shardedUnits } from "./sharded-units.js";
import { checkShardingPlan } from "./sharding-plan.js";
import { storageRoles } from "./storage-roles.js";

/**
 * Returns the run with parameters, gradients and optimizer states in the sizes of rank 0's shards among `worldSize`
 * ranks, as in {@link simulateFsdp}.
 *
 * FSDP's own ops and buffers are left out. The result therefore has the same ops as the run, and a plan for it also
 * fits the run.
 *
 * @throws RematError `SHARDING_PLAN`
 * @example
 * heldPeak(shardStates(trace, 8)).peakBytes;
 */
export function shardStates(trace: Trace, worldSize: number): Trace {
  const plan = { worldSize, wrap: [] };
  checkShardingPlan(plan);
  const root = rootModule(trace);
  const groups = parameterGroups(trace, plan, root, shardedUnits(trace, plan, root));
  const sizes = new ShardSizes(trace, plan, groups, storageRoles(trace, groups, root));
  const { storages } = trace;
  const bytes = storages.bytes.map((whole, storage) => sizes.bytesOf(storage) ?? whole);
  return new Trace({ ...trace, storages: { ...storages, bytes } });
}
