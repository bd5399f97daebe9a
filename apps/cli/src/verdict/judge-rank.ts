import { heldPeak } from "@remat/memory";
import { judgeStep, type Verdict } from "@remat/reporting/verdict";
import { checkpointedRanks, fewestRanksOf } from "@remat/reporting/ways-to-fit";
import type { DeviceSpec, Trace } from "@remat/trace";
import { formatExactBytes } from "@remat/trace/text";
import type { TypedSharding } from "../sharding-option.js";
import { type Given, typed } from "./next-command.js";

export interface GivenRank extends Given {
  readonly device: Pick<DeviceSpec, "name" | "memoryBytes">;
  readonly sharding: TypedSharding;
}

/**
 * Judges the memory of one of many ranks: whether it fits. If it does not, also whether it would fit with its blocks
 * checkpointed, and on how many ranks it would fit with the same sharding. Such a step cannot be run here, so there are
 * no other remedies.
 *
 * @param trace of the step on one device
 * @param rank its trace on one rank
 */
export function judgeRank(trace: Trace, rank: Trace, given: GivenRank): Verdict {
  const { device, sharding, units } = given;
  const { memoryBytes } = device;
  const held = heldPeak(rank);
  const isOver = memoryBytes !== undefined && held.peakBytes > memoryBytes;
  const ways = isOver
    ? [checkpointedRanks(trace, sharding.plan, memoryBytes), fewestRanksOf(trace, sharding.plan, memoryBytes)].filter(
        (way) => way !== undefined,
      )
    : undefined;
  const commandFor = (): string | undefined => {
    const way = ways?.[0];
    if (way === undefined) return undefined;
    // The search checkpoints no more than necessary.
    return way.checkpoint === undefined
      ? typed("memory", given, "--fsdp", overRanks(sharding.name, way.worldSize))
      : typed("plan", given, "--fsdp", sharding.name, "--budget", formatExactBytes(memoryBytes!));
  };
  const { truncated } = trace;
  return judgeStep(
    { ...held, truncated },
    {
      device,
      units,
      ways,
      commandFor,
    },
  );
}

/** The same sharding over another number of ranks, as typed. */
function overRanks(sharding: string, worldSize: number): string {
  return sharding
    .replace(/(^|,)\s*rank\s*=[^,]*/, "")
    .replace(/(^|,)\s*world\s*=[^,]*/, `$1world=${worldSize}`)
    .replace(/^,/, "");
}
