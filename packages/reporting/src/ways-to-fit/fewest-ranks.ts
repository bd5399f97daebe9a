import { heldPeak } from "@remat/memory";
import { tellsSaves } from "@remat/memory/checkpointing";
import { CheckpointedRun, type ShardingPlan, simulateFsdp, usualWrap } from "@remat/sharding";
import { RematError, type Trace } from "@remat/trace";
import type { WayToFit } from "../verdict/way-to-fit.js";

type ShardingWay = Extract<WayToFit, { kind: "sharding" }>;

/** The largest number of devices considered. */
export const mostRanks = 1024;
const worldSizes: readonly number[] = [2, 4, 8, 16, 32, 64, 128, 256, 512, mostRanks];

/**
 * Returns the smallest number of ranks, a power of two, with which a step fits on each rank. Weights are sharded by
 * FSDP at the usual blocks (`usualWrap`). If no number of ranks is enough, the wrapped blocks are also checkpointed.
 * Undefined if that is also not enough.
 */
export function fewestRanks(trace: Trace, memoryBytes: number): WayToFit | undefined {
  try {
    const wrap = usualWrap(trace);
    const runs = new CheckpointedRun(trace);
    const found = fewestRanksOf(trace, { wrap }, memoryBytes, runs);
    // The memory that TensorFlow.js would use for checkpointed modules on ranks is unknown.
    if (found !== undefined || wrap.length === 0 || !tellsSaves(trace)) return found;
    const checkpointed = fewestRanksOf(trace, { wrap, checkpoint: [{ modules: wrap }] }, memoryBytes, runs);
    return checkpointed && { ...checkpointed, checkpoint: wrap };
  } catch (error) {
    // A run without weights, or one that was already sharded.
    if (!(error instanceof RematError)) throw error;
    return undefined;
  }
}

/**
 * Returns the same sharding over the same number of ranks with all repeated blocks checkpointed. Returns undefined if
 * the result does not fit, if the sharding already has a checkpoint setting, or if the run does not record what
 * checkpointing would free.
 *
 * @throws RematError as `simulateFsdp` does
 */
export function checkpointedRanks(trace: Trace, sharding: ShardingPlan, memoryBytes: number): ShardingWay | undefined {
  const wrap = usualWrap(trace);
  if (sharding.checkpoint !== undefined || wrap.length === 0 || !tellsSaves(trace)) return undefined;
  const plan = { ...sharding, checkpoint: [{ modules: wrap }] };
  const { peakBytes } = heldPeak(simulateFsdp(trace, plan).trace);
  if (peakBytes > memoryBytes) return undefined;
  return { kind: "sharding", peakBytes, worldSize: sharding.worldSize, wrap: sharding.wrap ?? wrap, checkpoint: wrap };
}

/**
 * Returns the smallest number of ranks for weights sharded as given.
 *
 * @throws RematError as `simulateFsdp` does
 */
export function fewestRanksOf(
  trace: Trace,
  sharding: Omit<ShardingPlan, "worldSize" | "rank">,
  memoryBytes: number,
  runs: CheckpointedRun = new CheckpointedRun(trace),
): ShardingWay | undefined {
  const wrap = sharding.wrap ?? usualWrap(trace);
  const peakOn = (worldSize: number): number =>
    heldPeak(simulateFsdp(trace, { ...sharding, wrap, worldSize, rank: 0 }, runs).trace).peakBytes;
  // With the largest number of ranks, nearly only unsharded memory is left.
  if (peakOn(mostRanks) > memoryBytes) return undefined;
  for (const worldSize of worldSizes) {
    const peakBytes = peakOn(worldSize);
    if (peakBytes <= memoryBytes) return { kind: "sharding", peakBytes, worldSize, wrap };
  }
  return undefined;
}
