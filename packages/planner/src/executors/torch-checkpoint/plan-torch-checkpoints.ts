import { type Budget, bytesOfBudget } from "@remat/memory";
import {
  type CheckpointPolicy,
  CheckpointSimulator,
  checkpointableUnits,
  requirePlainStep,
  stepScript,
} from "@remat/memory/checkpointing";
import { stepMs } from "@remat/runtime-estimator";
import type { Trace } from "@remat/trace";
import { handPolicies } from "./hand-policies.js";
import { PolicySearch, type TriedPolicy } from "./policy-search.js";

/** A policy for `torch.utils.checkpoint`, with what a step holds and takes that follows it in PyTorch. */
export interface TorchCheckpoints {
  readonly policy: CheckpointPolicy;
  readonly peakBytes: number;
  /** What runs again takes, and what checkpointing takes by itself. */
  readonly recomputeMs: number;
  readonly bookkeepingMs: number;
  /** Time beyond the step's without checkpointing, as a fraction of it. */
  readonly overhead: number;
}

/** A policy that people write by hand. */
export interface NamedCheckpoints extends TorchCheckpoints {
  readonly name: string;
}

/** What may be checkpointed: modules and parts of their forward, or modules alone. */
export const checkpointUnits = ["parts", "modules"] as const;
export type CheckpointUnits = (typeof checkpointUnits)[number];

export interface TorchCheckpointsOptions {
  /** Left out: as little as can be. */
  readonly budget?: Budget | undefined;
  /** Of the overhead of what is returned. */
  readonly maxOverhead?: number | undefined;
  /** How long to look; 5 s if not given. The policies that people write are tried first, however long that takes. */
  readonly timeMs?: number | undefined;
  /** Rounds without anything better before the search ends; 40 if not given. */
  readonly rounds?: number;
  readonly seed?: number;
  /** "parts" if not given, which models that are sharded or compiled cannot follow. */
  readonly units?: CheckpointUnits;
  /** Whether what holds least is looked for where a policy is found within the budget, too: `least` is else the least of what was tried on the way. True if not given. */
  readonly findsLeast?: boolean;
  readonly signal?: AbortSignal;
  /** In milliseconds, as `performance.now`. */
  readonly now?: () => number;
}

/** What was found for PyTorch. */
export interface TorchCheckpointsAnswer {
  /** The quickest within the budget and the overhead; undefined where none was found. */
  readonly found: TorchCheckpoints | undefined;
  /** The step without checkpointing. */
  readonly plain: TorchCheckpoints;
  readonly stepMs: number;
  readonly budgetBytes: number | undefined;
  /** What holds least of all that were tried. */
  readonly least: TorchCheckpoints;
  /** Of policies that people write, what each comes to. */
  readonly byHand: readonly NamedCheckpoints[];
  /** Of all that were tried, those with nothing as good in both memory and time, by falling peak. */
  readonly tradeOffs: readonly TorchCheckpoints[];
  /** Modules that PyTorch could not run again, and why. */
  readonly refused: ReadonlyMap<string, string>;
}

/**
 * Plans a step of PyTorch for what PyTorch can do: which modules run under `torch.utils.checkpoint`, nested as they may be, and which ops of a module
 * selective checkpointing saves, or which parts of a module's forward run again, as `remat.apply` has them do. What each policy holds and takes is simulated by the rules of PyTorch. What people write by hand (the first k
 * blocks, every nth, all of them) is among what is tried, so that the answer is never worse than those in both memory and time.
 *
 * @param trace of PyTorch, priced, of a step without checkpointing
 * @throws RematError `TRACE_SAVES` for a trace that does not say what autograd gives back when, `TRACE_PHASE` and `TRACE_RECOMPUTES` for one that
 * is not of a whole training step without checkpointing
 * @example
 * const { found } = planTorchCheckpoints(trace, { budget: { fraction: 0.6 } });
 * found?.policy; // [{ fqn: "GPT2.h.0.mlp", saved: [] }, …]
 */
export function planTorchCheckpoints(trace: Trace, options: TorchCheckpointsOptions = {}): TorchCheckpointsAnswer {
  requirePlainStep(trace);
  const {
    budget,
    maxOverhead,
    timeMs = 5000,
    rounds = 40,
    seed = 0,
    units: kind = checkpointUnits[0],
    findsLeast = true,
    signal,
    now = () => performance.now(),
  } = options;
  const begin = now();
  let limit = begin;
  const isOver = (): boolean => signal?.aborted === true || now() > limit;
  const script = stepScript(trace);
  const units = checkpointableUnits(script);
  const search = new PolicySearch(new CheckpointSimulator(script, units), units, {
    opCount: trace.ops.count,
    isOver,
  });
  const plainMs = stepMs(trace);
  const asAnswer = ({ policy, simulated, extraMs }: TriedPolicy): TorchCheckpoints => ({
    policy,
    peakBytes: simulated.peakBytes,
    recomputeMs: simulated.recomputeMs,
    bookkeepingMs: simulated.bookkeepingMs,
    overhead: plainMs > 0 ? extraMs / plainMs : 0,
  });
  const plain = search.try([]);
  const byHand = handPolicies(units).map(({ name, policy }) => ({ name, ...asAnswer(search.try(policy)) }));
  const budgetBytes = budget === undefined ? undefined : bytesOfBudget(budget, plain.simulated.peakBytes);
  // Modules alone first, so that nothing is lost by there being more to choose from; each has its share of the time.
  const kinds = kind === "parts" ? [false, true] : [false];
  const mostMs = maxOverhead === undefined ? undefined : maxOverhead * plainMs;
  const phases = 2 * kinds.length;
  let phase = 0;
  const begun = (hasParts: boolean): void => {
    limit = begin + (timeMs * ++phase) / phases;
    search.hasParts = hasParts;
  };
  const goDownTo = (leastBytes: number): void => {
    for (const hasParts of kinds) {
      begun(hasParts);
      goDown(search, leastBytes, { rounds, seed, isOver });
    }
  };
  const lookWithin = (): TriedPolicy | undefined => {
    for (const hasParts of kinds) {
      begun(hasParts);
      if (budgetBytes !== undefined) goDown(search, budgetBytes, { rounds, seed, isOver });
      const best = bestOf(search, budgetBytes, mostMs);
      if (best !== undefined) search.improve(Math.max(best.simulated.peakBytes, budgetBytes ?? 0), rounds, seed);
    }
    return bestOf(search, budgetBytes, mostMs);
  };
  // What holds least is looked for as if there were no budget, so that each budget is told the same.
  const isLeastFirst = findsLeast || budgetBytes === undefined;
  if (isLeastFirst) goDownTo(0);
  const found = lookWithin();
  if (!isLeastFirst && found === undefined) goDownTo(0);
  const least = search.tradeOffs().at(-1)!;
  return {
    found: found && asAnswer(found),
    plain: asAnswer(plain),
    stepMs: plainMs,
    budgetBytes,
    least: asAnswer(found !== undefined && found.simulated.peakBytes < least.simulated.peakBytes ? found : least),
    byHand,
    tradeOffs: search.tradeOffs().map(asAnswer),
    refused: units.refused,
  };
}

/** Goes down to a budget. A descent that comes to a stop before goes on from what is found around its lowest place. */
function goDown(
  search: PolicySearch,
  budgetBytes: number,
  { rounds, seed, isOver }: { readonly rounds: number; readonly seed: number; readonly isOver: () => boolean },
): void {
  search.descend(budgetBytes);
  for (let turn = seed; search.within(budgetBytes) === undefined && !isOver(); turn++) {
    const lowestBytes = search.lowestBytes();
    search.improve(lowestBytes, rounds, turn);
    search.descend(budgetBytes);
    if (search.lowestBytes() >= lowestBytes) break;
  }
}

/** The quickest within a budget, or what holds least for a time. */
function bestOf(
  search: PolicySearch,
  budgetBytes: number | undefined,
  mostMs = Number.POSITIVE_INFINITY,
): TriedPolicy | undefined {
  if (budgetBytes === undefined) return search.tradeOffs().findLast(({ extraMs }) => extraMs <= mostMs);
  const best = search.within(budgetBytes);
  return best !== undefined && best.extraMs <= mostMs ? best : undefined;
}
