import { type ShardingPlan, simulateFsdp, usualWrap } from "@remat/mem-tracker/fsdp";
import { heldPeak } from "@remat/memory";
import { RematError, type Trace } from "@remat/trace";
import type { WayToFit } from "../verdict/way-to-fit.js";

type ShardingWay = Extract<WayToFit, { kind: "sharding" }>;

/** As many devices as somebody may have. */
const worldSizes: readonly number[] = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/**
 * Returns the fewest ranks, a power of two, on each of which a step fits with its weights sharded over them as a user of FSDP would (`usualWrap`). Undefined where no number of them is enough.
 */
export function fewestRanks(trace: Trace, memoryBytes: number): WayToFit | undefined {
  try {
    return fewestRanksOf(trace, {}, memoryBytes);
  } catch (error) {
    // A run without weights, one that was sharded already.
    if (!(error instanceof RematError)) throw error;
    return undefined;
  }
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
): ShardingWay | undefined {
  const wrap = sharding.wrap ?? usualWrap(trace);
  const peakOn = (worldSize: number): number =>
    heldPeak(simulateFsdp(trace, { ...sharding, wrap, worldSize, rank: 0 }).trace).peakBytes;
  // With as many ranks as there can be, what is not sharded is all that is left.
  if (peakOn(worldSizes.at(-1)!) > memoryBytes) return undefined;
  for (const worldSize of worldSizes) {
    const peakBytes = peakOn(worldSize);
    if (peakBytes <= memoryBytes) return { kind: "sharding", peakBytes, worldSize, wrap };
  }
  return undefined;
}
