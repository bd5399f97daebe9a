import type { ShardingPlan } from "@remat/mem-tracker/fsdp";
import { heldPeak } from "@remat/memory";
import { judgeStep, type Verdict } from "@remat/reporting";
import { fewestRanksOf } from "@remat/reporting/ways-to-fit";
import type { DeviceSpec, Trace } from "@remat/trace";
import { parseUnits } from "../format-option.js";
import { type Given, typed } from "./next-command.js";

export interface GivenRank extends Given {
  readonly device: Pick<DeviceSpec, "name" | "memoryBytes">;
  readonly sharding: ShardingPlan;
}

/**
 * Judges what one rank of many holds: whether it fits, and where it does not, over how many the same sharding would. Nobody takes such a step here, so there
 * is nothing else to be done about it.
 *
 * @param trace of the step on one device
 * @param rank its trace on one rank
 */
export function judgeRank(trace: Trace, rank: Trace, given: GivenRank): Verdict {
  const { device, sharding, options } = given;
  const { memoryBytes } = device;
  const held = heldPeak(rank);
  const isOver = memoryBytes !== undefined && held.peakBytes > memoryBytes;
  const way = isOver ? fewestRanksOf(trace, sharding, memoryBytes) : undefined;
  const { truncated } = trace;
  return judgeStep(
    { ...held, truncated },
    {
      device,
      units: parseUnits(options),
      ...(isOver && { ways: way === undefined ? [] : [way] }),
      commandFor: () => way && typed("memory", given, "--fsdp", overRanks(String(options["fsdp"]), way.worldSize)),
    },
  );
}

/** The same sharding over other ranks, as it is typed. */
function overRanks(sharding: string, worldSize: number): string {
  return sharding
    .replace(/(^|,)\s*rank\s*=[^,]*/, "")
    .replace(/(^|,)\s*world\s*=[^,]*/, `$1world=${worldSize}`)
    .replace(/^,/, "");
}
