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

/** What one rank holds and takes under a sharding plan. */
export interface RankStep {
  readonly peakBytes: number;
  /** Undefined where ops have no times. */
  readonly stepMs: number | undefined;
  /** In a step, from other ranks. */
  readonly receivedBytes: number;
}

/** A sharding plan with what it comes to. */
export interface PlannedSharding extends RankStep {
  /** What was added to the plan that was given, as the text of a plan says it; empty where nothing was. */
  readonly added: string;
  readonly plan: ShardingPlan;
}

export interface PlanShardingOptions {
  /** What a rank may hold, or a share of what it holds under the plan as given. */
  readonly budget: Budget;
  /** Tells what a plan comes to: as whoever shows it will. */
  readonly stepUnder: (plan: ShardingPlan, run: CheckpointedRun) => RankStep;
  /** How ranks are joined. */
  readonly network?: DeviceNetwork | undefined;
  /** How long to look; 10 s if not given. What people write by hand is tried first, however long that takes. */
  readonly timeMs?: number | undefined;
  /** As of `planTorchCheckpoints`. */
  readonly rounds?: number;
  readonly seed?: number;
  /** In milliseconds, as `performance.now`. */
  readonly now?: () => number;
}

export interface PlanShardingAnswer {
  /** The quickest that keeps to the budget, or where ops have no times the one that receives least; undefined where none was found. */
  readonly found: PlannedSharding | undefined;
  readonly budgetBytes: number;
  /** The plan as it was given. */
  readonly given: PlannedSharding;
  /** As people write it: all blocks checkpointed, all kept gathered between the passes. */
  readonly byHand: readonly PlannedSharding[];
  /** What holds least of all that were tried. */
  readonly least: PlannedSharding;
  readonly tried: number;
  /** Whether time ran out before all that there is to try was tried. */
  readonly isCutShort: boolean;
}

/**
 * Plans how one rank of many keeps to a budget: which modules are gathered as one, which of them stay gathered between the passes, and what is checkpointed, all three together, as what one of them
 * saves the others need not. What the given plan says of any of them stays as it says. Each plan that is tried is simulated as `simulateFsdp` does; policies to checkpoint by are those that
 * `planTorchCheckpoints` finds on one device, of which the first that fits is looked for by halving, for each way to wrap and to reshard.
 *
 * @param trace of one device, priced for anything to be told of time
 * @throws RematError as `simulateFsdp` does, of the plan that was given
 * @example
 * const { found } = planSharding(trace, { worldSize: 8 }, { budget: { bytes: 8 * 2 ** 30 }, stepUnder });
 * found?.added; // "no-reshard,checkpoint='layers.*'"
 */
export function planSharding(trace: Trace, given: ShardingPlan, options: PlanShardingOptions): PlanShardingAnswer {
  const { budget, network, timeMs = 10_000, rounds = 40, seed = 0, now = () => performance.now() } = options;
  const end = now() + timeMs;
  const isOver = (): boolean => now() > end;
  const search = new ShardingSearch(trace, given, options);
  // Whose ops are saved are those of the dtype that the plan computes in.
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
      // The usual wrap is what is meant where nobody says.
      const first = wrap === wraps[0] ? nothing : wrap;
      const fitting = firstThat(checkpoints.length, (i) => fits([first, reshard, checkpoints[i]]));
      // A little more checkpointing may be quicker where it has less to wait for.
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

/** Keeps as many of the last blocks gathered as there is room for: they are the first that the backward pass asks for. */
function keepSome({ blocks }: WrapChoice, isTooMuch: (choice: ShardingChoice) => boolean): void {
  // None is tried already, and all is the choice that reshards nothing.
  if (blocks.length > 2) firstThat(blocks.length - 1, (more) => isTooMuch(keptChoice(blocks.slice(-more - 1))));
}

/** The first of so many that a test is true of, if it is true of all from there on; `count` where it is true of none. */
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

/** From none to those that hold least, each holding less than the one before on one device; and all blocks that repeat, as people do. */
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
  /** By what was added to the plan as given; undefined where PyTorch refuses that. */
  readonly tried = new Map<string, PlannedSharding | undefined>();

  constructor(trace: Trace, given: ShardingPlan, options: PlanShardingOptions) {
    this.given = given;
    this.options = options;
    this.run = new CheckpointedRun(trace);
  }

  /** Returns what the plan with these choices comes to; undefined where it is refused: modules of two groups may share a parameter. */
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
