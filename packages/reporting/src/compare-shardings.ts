import { CheckpointedRun, type Communication, type ShardingPlan, simulateFsdp } from "@remat/mem-tracker/fsdp";
import { heldElsewhere, heldPeak } from "@remat/memory";
import type { CategoryName, Trace } from "@remat/trace";

/** A sharding plan with the name that it is shown by. */
export interface NamedSharding {
  readonly name: string;
  readonly plan: ShardingPlan;
}

/** What one rank holds and receives under a sharding plan; of the run on one device, what that holds. */
export interface ShardingOutcome {
  readonly name: string;
  /** Undefined of the run on one device. */
  readonly plan: ShardingPlan | undefined;
  readonly peakBytes: number;
  /** At the peak. */
  readonly bytesByCategory: Readonly<Partial<Record<CategoryName, number>>>;
  /** What other devices hold at most, by name: the host under offload. */
  readonly elsewhere: ReadonlyMap<string, number>;
  /** In a step. */
  readonly communication: Communication;
}

export interface ShardingComparison {
  readonly model: string;
  /** The run on one device, then the plans in the order given. */
  readonly outcomes: readonly ShardingOutcome[];
  readonly memoryBytes: number | undefined;
  /** Of the plans that fit the one that receives least; where none fits, or nothing is known of a device, the one that holds least. */
  readonly best: ShardingOutcome;
  readonly reason: "least communication of those that fit" | "least memory" | "least memory, and none fits";
}

/**
 * Returns what sharding plans come to for one rank, side by side, and which is best.
 *
 * @param memoryBytes of a rank's device, where it is known
 * @throws RematError as `simulateFsdp` does
 * @example
 * compareShardings(trace, [{ name: "8 ranks", plan: { worldSize: 8 } }], 80 * 2 ** 30).best.name;
 */
export function compareShardings(
  trace: Trace,
  shardings: readonly NamedSharding[],
  memoryBytes?: number,
): ShardingComparison {
  const alone = heldPeak(trace);
  const runs = new CheckpointedRun(trace);
  const ofPlans = shardings.map(({ name, plan }): ShardingOutcome => {
    const { trace: rank, communication } = simulateFsdp(trace, plan, runs);
    const { peakBytes, bytesByCategory } = heldPeak(rank);
    return { name, plan, peakBytes, bytesByCategory, elsewhere: heldElsewhere(rank), communication };
  });
  const fitting = ofPlans.filter(({ peakBytes }) => memoryBytes !== undefined && peakBytes <= memoryBytes);
  const none: Communication = { allGatherBytes: 0, reduceScatterBytes: 0, allReduceBytes: 0 };
  const oneDevice: ShardingOutcome = {
    name: "one device",
    plan: undefined,
    peakBytes: alone.peakBytes,
    bytesByCategory: alone.bytesByCategory,
    elsewhere: new Map(),
    communication: none,
  };
  return {
    model: trace.header.model ?? "model",
    outcomes: [oneDevice, ...ofPlans],
    memoryBytes,
    best:
      fitting.length > 0
        ? least(fitting, ({ communication, peakBytes }) => [receivedBytes(communication), peakBytes])
        : least(ofPlans, ({ communication, peakBytes }) => [peakBytes, receivedBytes(communication)]),
    reason:
      fitting.length > 0
        ? "least communication of those that fit"
        : memoryBytes === undefined
          ? "least memory"
          : "least memory, and none fits",
  };
}

/** Returns what a rank receives in a step, in bytes. */
export function receivedBytes({ allGatherBytes, reduceScatterBytes, allReduceBytes }: Communication): number {
  return allGatherBytes + reduceScatterBytes + allReduceBytes;
}

function least<T>(items: readonly T[], of: (item: T) => readonly [number, number]): T {
  return items.reduce((best, item) => {
    const [a, b] = [of(item), of(best)];
    return a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]) ? item : best;
  });
}
