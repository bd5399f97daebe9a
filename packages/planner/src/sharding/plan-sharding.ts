import { type Budget, bytesOfBudget } from "@remat/memory";
import type { CheckpointPolicy } from "@remat/memory/checkpointing";
import { CheckpointedRun, type ShardingPlan, shardRanks } from "@remat/sharding";
import { type DeviceNetwork, RematError, type Trace } from "@remat/trace";
import { planTorchCheckpoints } from "../executors/torch-checkpoint/plan-torch-checkpoints.js";
import {
  checkpointChoice,
  keptChoice,
  reshardChoices,
  type ShardingChoice,
  type WrapChoice,
  wrapChoices,
} from "./sharding-choices.js";

/** Memory, time and communication of one rank under a sharding plan. */
export interface RankStep {
  /** Peak memory of the rank, in bytes. */
  readonly peakBytes: number;
  /** Time of a step in milliseconds. Undefined if ops have no runtimes. */
  readonly stepMs: number | undefined;
  /** Communication volume per step: bytes received from other ranks. */
  readonly receivedBytes: number;
}

/** A sharding plan with its memory and time. */
export interface PlannedSharding extends RankStep {
  /** The additions to the given plan, in the text form of a plan, or empty if none exist. */
  readonly added: string;
  readonly plan: ShardingPlan;
}

/** Options for {@link planSharding}. */
export interface PlanShardingOptions {
  /** The memory budget of a rank. A fraction refers to its peak under the given plan. */
  readonly budget: Budget;
  /** Evaluates a plan, in the same way as the caller displays it. */
  readonly stepUnder: (plan: ShardingPlan, run: CheckpointedRun) => RankStep;
  /** The network between ranks. */
  readonly network?: DeviceNetwork | undefined;
  /**
   * Time limit in milliseconds. Default: 10,000. The usual manual plans are always tried first, even if they take
   * longer.
   */
  readonly timeMs?: number | undefined;
  /** Number of rounds without improvement before a search for checkpointing policies ends. Default: 40. */
  readonly rounds?: number;
  /** Seed of the search. */
  readonly seed?: number;
  /** A clock in milliseconds. Default: `performance.now`. */
  readonly now?: () => number;
}

/** The result of {@link planSharding}. */
export interface PlanShardingAnswer {
  /**
   * The fastest plan within the budget. If ops have no runtimes, it is the plan with the lowest communication volume.
   * Undefined if none was found.
   */
  readonly found: PlannedSharding | undefined;
  /** The budget in bytes. */
  readonly budgetBytes: number;
  /** The plan as it was given. */
  readonly given: PlannedSharding;
  /** The usual manual plans: one checkpoints all blocks, and one keeps all blocks unsharded between the passes. */
  readonly byHand: readonly PlannedSharding[];
  /** The plan with the least memory among all that were tried. */
  readonly least: PlannedSharding;
  /** The number of plans that were tried. */
  readonly tried: number;
  /** True if time ran out before all options were tried. */
  readonly isCutShort: boolean;
}

/**
 * Plans how one of many ranks meets a memory budget. It chooses which modules form an FSDP unit, which units stay
 * unsharded between the passes, and which modules are checkpointed. It makes these three choices together, since memory
 * saved by one choice need not be saved by the others. Settings in the given plan are kept. Each plan is simulated like
 * `simulateFsdp`. The checkpointing policies are those that `planTorchCheckpoints` finds on one device. For each way to
 * wrap and to reshard, bisection finds the first policy that fits.
 *
 * @param trace a trace of one device; times are reported only if it has runtimes
 * @throws RematError as `simulateFsdp`, for the given plan
 * @example
 * const { found } = planSharding(trace, { worldSize: 8 }, { budget: { bytes: 8 * 2 ** 30 }, stepUnder });
 * found?.added; // "no-reshard,checkpoint='layers.*'"
 */
export function planSharding(trace: Trace, given: ShardingPlan, options: PlanShardingOptions): PlanShardingAnswer {
  const { budget, network, timeMs = 10_000, rounds = 40, seed = 0, now = () => performance.now() } = options;
  const end = now() + timeMs;
  const isOver = (): boolean => now() > end;
  const search = new ShardingSearch(trace, given, options);
  // Saved ops are those of the dtype that the plan computes in.
  const { run } = search.run.forPlan(given);
  const asGiven = search.try([], { isRequired: true })!;
  const budgetBytes = bytesOfBudget(budget, asGiven.peakBytes);
  const fits = (choices: readonly ShardingChoice[]): boolean =>
    (search.try(choices)?.peakBytes ?? Number.POSITIVE_INFINITY) <= budgetBytes;
  const hasWrap = given.wrap !== undefined || given.groups !== undefined;
  const wraps: readonly WrapChoice[] = hasWrap ? [{ ...nothing, blocks: [] }] : wrapChoices(trace);
  const reshards =
    given.reshardAfterForward !== undefined || given.strategy !== undefined
      ? [nothing]
      : reshardChoices(shardRanks(given), network?.perNode);
  const policies = checkpointPolicies(run.trace, given, { timeMs: timeMs / 3, rounds, seed, now });
  const checkpoints = policies.found.map((policy) => checkpointChoice(run, policy));
  const byHand = [
    search.try([nothing, checkpointChoice(run, policies.allBlocks)]),
    ...reshards.slice(1, 2).map((reshard) => search.try([reshard])),
  ].filter((one) => one !== undefined && one !== asGiven);
  let isCutShort = false;
  for (const wrap of given.strategy === undefined ? wraps : [nothing])
    for (const reshard of reshards) {
      isCutShort ||= isOver();
      if (isCutShort) break;
      // The usual wrap is the default of a plan, so it needs no text.
      const first = wrap === wraps[0] ? nothing : wrap;
      const fitting = firstThat(checkpoints.length, (i) => fits([first, reshard, checkpoints[i]]));
      // A little more checkpointing may be faster if it exposes less communication.
      for (let i = fitting + 1; i < Math.min(checkpoints.length, fitting + 3) && !isOver(); i++)
        search.try([first, reshard, checkpoints[i]]);
      if (fitting >= checkpoints.length || reshard !== nothing || !("blocks" in wrap)) continue;
      for (const checkpoint of [checkpoints[fitting], checkpoints[Math.min(fitting + 2, checkpoints.length - 1)]])
        keepSome(wrap, (kept) => isOver() || !fits([wrap, kept, checkpoint]));
    }
  return {
    found: search.best(budgetBytes),
    budgetBytes,
    given: asGiven,
    byHand: byHand as readonly PlannedSharding[],
    least: search.least(),
    tried: search.tried.size,
    isCutShort,
  };
}

const nothing: ShardingChoice = { text: "", changes: {} };

/** Keeps as many of the last blocks unsharded as fit in memory. The backward pass needs them first. */
function keepSome({ blocks }: WrapChoice, isTooMuch: (choice: ShardingChoice) => boolean): void {
  // Keeping none has been tried already, and keeping all is the choice without resharding.
  if (blocks.length > 2) firstThat(blocks.length - 1, (more) => isTooMuch(keptChoice(blocks.slice(-more - 1))));
}

/**
 * Returns the first index for which a test is true, if it is true for all later ones. Returns `count` if it is never
 * true.
 */
function firstThat(count: number, test: (i: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (test(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * Returns policies from no checkpointing to the least memory, and the policy that checkpoints all repeated blocks. On
 * one device, each needs less memory than the previous one.
 */
function checkpointPolicies(
  trace: Trace,
  given: ShardingPlan,
  options: { readonly timeMs: number; readonly rounds: number; readonly seed: number; readonly now: () => number },
): { readonly found: readonly CheckpointPolicy[]; readonly allBlocks: CheckpointPolicy } {
  if (given.checkpoint !== undefined || trace.header.framework !== "pytorch") return { found: [[]], allBlocks: [] };
  const { tradeOffs, byHand } = planTorchCheckpoints(trace, { ...options, units: "modules" });
  const policies = [...tradeOffs, ...byHand].toSorted((a, b) => b.peakBytes - a.peakBytes).map(({ policy }) => policy);
  const plain = policies.some((policy) => policy.length === 0) ? [] : [[]];
  return { found: [...plain, ...policies], allBlocks: byHand[0]?.policy ?? [] };
}

class ShardingSearch {
  private readonly given: ShardingPlan;
  private readonly options: PlanShardingOptions;
  readonly run: CheckpointedRun;
  /** Results by additions to the given plan, or undefined if PyTorch rejects the plan. */
  readonly tried = new Map<string, PlannedSharding | undefined>();

  constructor(trace: Trace, given: ShardingPlan, options: PlanShardingOptions) {
    this.given = given;
    this.options = options;
    this.run = new CheckpointedRun(trace);
  }

  /**
   * Evaluates the plan with these choices. Returns undefined if it is rejected, for example because modules of two
   * groups share a parameter.
   */
  try(choices: readonly ShardingChoice[], { isRequired = false } = {}): PlannedSharding | undefined {
    const added = choices.flatMap(({ text }) => (text === "" ? [] : [text])).join(",");
    if (this.tried.has(added)) return this.tried.get(added);
    const plan = choices.reduce(
      (merged: ShardingPlan, { changes }) => ({
        ...merged,
        ...changes,
        ...(changes.groups !== undefined && { groups: [...(merged.groups ?? []), ...changes.groups] }),
      }),
      this.given,
    );
    let found: PlannedSharding | undefined;
    try {
      found = { added, plan, ...this.options.stepUnder(plan, this.run) };
    } catch (error) {
      if (isRequired || !(error instanceof RematError)) throw error;
    }
    this.tried.set(added, found);
    return found;
  }

  best(budgetBytes: number): PlannedSharding | undefined {
    return leastBy(
      this.all().filter(({ peakBytes }) => peakBytes <= budgetBytes),
      ({ stepMs, receivedBytes, peakBytes }) => [stepMs ?? receivedBytes, peakBytes],
    );
  }

  least(): PlannedSharding {
    return leastBy(this.all(), ({ stepMs, receivedBytes, peakBytes }) => [peakBytes, stepMs ?? receivedBytes])!;
  }

  private all(): readonly PlannedSharding[] {
    return [...this.tried.values()].filter((one) => one !== undefined);
  }
}

function leastBy<T>(items: readonly T[], of: (item: T) => readonly [number, number]): T | undefined {
  let best: T | undefined;
  for (const item of items) {
    const [a, b] = of(item);
    const [x, y] = best === undefined ? [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY] : of(best);
    if (a < x || (a === x && b < y)) best = item;
  }
  return best;
}
