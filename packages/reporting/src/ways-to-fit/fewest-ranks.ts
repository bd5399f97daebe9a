import { heldPeak } from "@remat/memory";
import { tellsSaves } from "@remat/memory/checkpointing";
import { CheckpointedRun, type ShardingPlan, simulateFsdp, usualWrap } from "@remat/sharding";
import { RematError, type Trace } from "@remat/trace";
import type { WayToFit } from "../verdict/way-to-fit.js";

type ShardingWay = Extract<WayToFit, { kind: "sharding" }>;

/** As many devices as somebody may have. */
export const mostRanks = 1024;
const worldSizes: readonly number[] = [2, 4, 8, 16, 32, 64, 128, 256, 512, mostRanks];

/**
 * Returns the fewest ranks, a power of two, on each of which a step fits with its weights sharded over them as a user of FSDP would (`usualWrap`), and where no number of them is enough,
 * with what is wrapped checkpointed, too. Undefined where that is not enough either.
 */
export function fewestRanks(trace: Trace, memoryBytes: number): WayToFit | undefined {
  try {
    const wrap = usualWrap(trace);
    const runs = new CheckpointedRun(trace);
    const found = fewestRanksOf(trace, { wrap }, memoryBytes, runs);
    // What TensorFlow.js holds of checkpointed modules nobody can tell of ranks.
    if (found !== undefined || wrap.length === 0 || !tellsSaves(trace)) return found;
    const checkpointed = fewestRanksOf(trace, { wrap, checkpoint: [{ modules: wrap }] }, memoryBytes, runs);
    return checkpointed && { ...checkpointed, checkpoint: wrap };
  } catch (error) {
    // A run without weights, one that was sharded already.
    if (!(error instanceof RematError)) throw error;
    return undefined;
  }
}

/**
 * Returns the same sharding over as many ranks, with all blocks that repeat checkpointed; undefined where that does not fit, where the sharding says itself what is checkpointed, and of runs that do not tell
 * what checkpointing would free.
 *
 * @throws RematError what `simulateFsdp` throws
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
 * Returns the same where somebody has said how the weights are sharded.
 *
 * @throws RematError what `simulateFsdp` throws
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
  // With as many ranks as there can be, what is not sharded is all that is left.
  if (peakOn(mostRanks) > memoryBytes) return undefined;
  for (const worldSize of worldSizes) {
    const peakBytes = peakOn(worldSize);
    if (peakBytes <= memoryBytes) return { kind: "sharding", peakBytes, worldSize, wrap };
  }
  return undefined;
}
