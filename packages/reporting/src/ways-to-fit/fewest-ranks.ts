import { type ShardingPlan, simulateFsdp } from "@remat/mem-tracker/fsdp";
import { heldPeak } from "@remat/memory";
import { RematError, type Trace } from "@remat/trace";
import type { WayToFit } from "../verdict/way-to-fit.js";

type ShardingWay = Extract<WayToFit, { kind: "sharding" }>;

/** As many devices as somebody may have. */
const worldSizes: readonly number[] = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/**
 * Returns the fewest ranks, a power of two, on each of which a step fits with its weights sharded over them as a user of FSDP would: each of the blocks
 * that repeat by itself, or where none does each outermost module, or all as one. Undefined where no number of them is enough.
 */
export function fewestRanks(trace: Trace, memoryBytes: number): WayToFit | undefined {
  for (const wrap of [blocksOf(trace), ["*"], []]) {
    try {
      return fewestRanksOf(trace, { wrap }, memoryBytes);
    } catch (error) {
      // A parameter that two of the modules share, a run without weights, one that was sharded already.
      if (!(error instanceof RematError)) throw error;
    }
  }
  return undefined;
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
  const peakOn = (worldSize: number): number =>
    heldPeak(simulateFsdp(trace, { ...sharding, worldSize, rank: 0 }).trace).peakBytes;
  // With as many ranks as there can be, what is not sharded is all that is left.
  if (peakOn(worldSizes.at(-1)!) > memoryBytes) return undefined;
  for (const worldSize of worldSizes) {
    const peakBytes = peakOn(worldSize);
    if (peakBytes <= memoryBytes) return { kind: "sharding", peakBytes, worldSize, wrap: sharding.wrap };
  }
  return undefined;
}

/** Patterns for the outermost modules that are numbered: `layers.*` of a transformer. */
function blocksOf({ modules }: Trace): readonly string[] {
  const numbered = modules.map(({ fqn }) => /^[^.]+\.((?:[^.\d][^.]*\.)*)\d+$/.exec(fqn)?.[1]);
  return [...new Set(numbered.filter((parent) => parent !== undefined).map((parent) => `${parent}*`))];
}
