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

/** A policy for `torch.utils.checkpoint`, with the memory and time of a step that follows it in PyTorch. */
export interface TorchCheckpoints {
  readonly policy: CheckpointPolicy;
  /** Peak memory of the step under the policy, in bytes. */
  readonly peakBytes: number;
  /** Time of recomputation, in milliseconds. */
  readonly recomputeMs: number;
  /** Overhead of checkpointing itself, in milliseconds. */
  readonly bookkeepingMs: number;
  /** Added time as a fraction of the step's time without checkpointing. */
  readonly overhead: number;
}

/** A policy that people write by hand. */
export interface NamedCheckpoints extends TorchCheckpoints {
  readonly name: string;
}

/** The units that may be checkpointed: modules and parts of their forward pass, or only modules. */
const checkpointUnits = ["parts", "modules"] as const;
/** The units that a plan may checkpoint. See {@link checkpointUnits}. */
export type CheckpointUnits = (typeof checkpointUnits)[number];

/** Options for {@link planTorchCheckpoints}. */
export interface TorchCheckpointsOptions {
  /** The memory budget. By default the plan uses as little memory as possible. */
  readonly budget?: Budget | undefined;
  /** Limit on the overhead of the returned policy. */
  readonly maxOverhead?: number | undefined;
  /**
   * Time limit in milliseconds. Default: 5000. The manual policies are always tried first, even if they take longer.
   */
  readonly timeMs?: number | undefined;
  /** Number of rounds without improvement before the search ends. Default: 40. */
  readonly rounds?: number;
  /** Seed of the search. */
  readonly seed?: number;
  /** "parts" by default. Sharded or compiled models cannot follow parts. */
  readonly units?: CheckpointUnits;
  /**
   * True to search for the policy with the least memory even if one within the budget is found. If false, `least` is
   * the best of the policies that were tried. Default: true.
   */
  readonly findsLeast?: boolean;
  readonly signal?: AbortSignal;
  /** A clock in milliseconds. Default: `performance.now`. */
  readonly now?: () => number;
}

/** The result of planning for PyTorch. */
export interface TorchCheckpointsAnswer {
  /** The fastest policy within the budget and the overhead, or undefined if none was found. */
  readonly found: TorchCheckpoints | undefined;
  /** The step without checkpointing. */
  readonly plain: TorchCheckpoints;
  readonly stepMs: number;
  readonly budgetBytes: number | undefined;
  /** The policy with the least memory among all that were tried. */
  readonly least: TorchCheckpoints;
  /** The usual manual policies, with their memory and time. */
  readonly byHand: readonly NamedCheckpoints[];
  /** The policies for which no other policy is better in both memory and time, by decreasing peak. */
  readonly tradeOffs: readonly TorchCheckpoints[];
  /** Modules that PyTorch could not run again, with the reason. */
  readonly refused: ReadonlyMap<string, string>;
}

/**
 * Plans a PyTorch step for PyTorch's own checkpointing. It chooses the modules that run under `torch.utils.checkpoint`,
 * possibly nested. For each it chooses the ops that selective checkpointing saves, or the parts of its forward pass
 * that run again, as in `remat.apply`. The memory and time of each policy are simulated by PyTorch's rules. It also
 * tries the usual manual policies (the first k blocks, every nth block, all blocks). The answer is therefore never
 * worse than one of them in both memory and time.
 *
 * @param trace a PyTorch trace of a step without checkpointing, with runtimes
 * @throws RematError `TRACE_SAVES` for a trace that does not record when autograd releases saved tensors; `TRACE_PHASE`
 * and `TRACE_RECOMPUTES` unless the trace is a whole training step without checkpointing
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
  // Only modules are tried first, so that more choices cannot make the result worse. Each kind gets its share of the
  // time.
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
  // The policy with the least memory is searched without the budget, so that it is the same for every budget.
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

/**
 * Reduces memory down to a budget. If the search gets stuck above it, it continues with improvements around its lowest
 * point.
 */
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

/**
 * Returns the fastest policy within a budget. Without a budget, returns the policy with the least memory whose added
 * time is within the limit.
 */
function bestOf(
  search: PolicySearch,
  budgetBytes: number | undefined,
  mostMs = Number.POSITIVE_INFINITY,
): TriedPolicy | undefined {
  if (budgetBytes === undefined) return search.tradeOffs().findLast(({ extraMs }) => extraMs <= mostMs);
  const best = search.within(budgetBytes);
  return best !== undefined && best.extraMs <= mostMs ? best : undefined;
}
