import { requireMemoryTrace } from "@remat/memory/tracker";
import { EventKind, RematError, type Trace } from "@remat/trace";
import { accumulatedRun } from "./accumulated-run.js";
import { CheckpointedRun, type RunForPlan, refuseParts } from "./checkpointed-run.js";
import { simulateDataParallel } from "./data-parallel.js";
import { type FSDPMemTracker, RankMemTracker } from "./fsdp-mem-tracker.js";
import type { Communication } from "./fsdp-rank.js";
import { rootModule } from "./match-modules.js";
import { oncePerTrace } from "./once-per-trace.js";
import { type ParameterGroup, parameterGroups, requireParameters } from "./parameter-groups.js";
import { RankSimulator } from "./rank-simulator.js";
import { shardedUnits } from "./sharded-units.js";
import { checkShardingPlan, type ShardingPlan, type WrappedPlan } from "./sharding-plan.js";
import type { StreamWork } from "./stream-work.js";
import { usualWrap } from "./usual-wrap.js";

/** The predicted memory and communication of a rank. */
export interface FsdpSimulation {
  /** The given plan with its wrapped modules filled in. */
  readonly plan: ShardingPlan & Required<Pick<ShardingPlan, "wrap">>;
  /** The parameter groups, the root's first. */
  readonly groups: readonly ParameterGroup[];
  /** Assumptions about facts that the run does not show. They are also notes of the trace. */
  readonly assumptions: readonly string[];
  /**
   * The run on that rank, with FSDP's own ops, buffers and hooks. It works with timelines and displays like any other
   * trace.
   */
  readonly trace: Trace;
  /** The work of the rank's streams without the ops of the model, in order. See {@link scheduleStreams}. */
  readonly work: readonly StreamWork[];
  /** The number of steps in the run. */
  readonly steps: number;
  /** The mean number of bytes that the rank receives from others per step of the run. */
  readonly communication: Communication;
  /** A tracker that has read the trace. Its statistics by module are those of the last iteration. */
  readonly tracker: FSDPMemTracker;
}

/**
 * Predicts the memory of one rank under FSDP from a run on one device.
 *
 * It follows PyTorch's FSDP2 event by event: shards with padding, all-gathers and their buffers, prefetching, reduction
 * in the reduction dtype, sharded gradients and optimizer states, lower precision and offload. Modules are checkpointed
 * according to the plan, or as recorded if the plan does not set this. If the step was also recorded in the dtype of
 * the plan (`recordedIn`), that recording is used.
 *
 * Without such a recording some facts are unknown: casts in the model's own code (state them as `explicitCasts`), and
 * kernels that another dtype would use. An optimizer state is sharded only if it has the shape of its parameter.
 *
 * @param runs the checkpointed runs of `trace`, to share between several plans. Default: created for this call
 * @throws RematError `SHARDING_PLAN`, the errors of {@link CheckpointedRun.under}, `TRACE_SHARDED`,
 * `TRACE_NO_BACKWARD`, `TRACE_NO_LIFETIMES`, `TRACE_NO_PARAMETERS`, `TRACE_EVENT_ORDER`
 * @example
 * const { tracker } = simulateFsdp(trace, { worldSize: 8, wrap: ["layers.*"] });
 * console.log(tracker.displaySnapshot("peak", "MiB", true));
 */
export function simulateFsdp(
  trace: Trace,
  given: ShardingPlan,
  runs: CheckpointedRun = new CheckpointedRun(trace),
): FsdpSimulation {
  checkShardingPlan(given);
  refuseParts(given.checkpoint);
  return simulateOn(runs.forPlan(given), given);
}

function simulateOn({ run: runs, plan: told, notes }: RunForPlan, given: ShardingPlan): FsdpSimulation {
  const { trace } = runs;
  requireMemoryTrace(trace);
  if (isSharded(trace))
    throw new RematError(
      "TRACE_SHARDED",
      `the run of '${trace.header.model ?? "a model"}' was already sharded by FSDP when it was recorded. Record it on one device, or see the rank's memory with remat memory, leaving out --fsdp.`,
    );
  requireOneProcess(trace);
  const run = accumulatedRun(runs.under(told.checkpoint), told.microBatches ?? 1);
  if (told.strategy !== undefined) return simulateWhole(run, { ...told, wrap: [] });
  const plan = { ...told, wrap: told.wrap ?? usualWrap(trace) };
  const simulator = new RankSimulator(run, plan, notes);
  const { groups, assumptions } = simulator;
  const sharded = simulator.run();
  const { communication } = simulator;
  let tracker: FSDPMemTracker | undefined;
  return {
    plan: { ...given, wrap: plan.wrap },
    groups,
    assumptions,
    trace: sharded,
    work: simulator.work,
    steps: simulator.stepCount,
    communication,
    // Callers that only need the peak do not need the tracker, so it is created on demand.
    get tracker() {
      tracker ??= new RankMemTracker({ secondIteration: "reset" }).update(sharded);
      return tracker;
    },
  };
}

const isSharded = oncePerTrace((trace): boolean => trace.events.kind.includes(EventKind.fsdpHook));

const collectiveOf = oncePerTrace((trace): string | undefined =>
  trace.strings.find((name, id) => /^(fsdp|c10d|_c10d_functional)\./.test(name) && trace.ops.name.includes(id)),
);

/** Rejects a run of one rank of several, because it already shows that rank's memory. */
function requireOneProcess(trace: Trace): void {
  const collective = collectiveOf(trace);
  if (collective === undefined) return;
  throw new RematError(
    "TRACE_SHARDED",
    `the run of '${trace.header.model ?? "a model"}' is from one of several ranks: it has ops such as ${collective}. Record it on one device, or see the rank's memory with remat memory, leaving out --fsdp.`,
  );
}

/** Simulates a strategy with unsharded parameters, by {@link simulateDataParallel}. */
function simulateWhole(trace: Trace, plan: WrappedPlan): FsdpSimulation {
  const root = rootModule(trace);
  const groups = parameterGroups(trace, plan, root, shardedUnits(trace, plan, root));
  requireParameters(groups);
  const run = simulateDataParallel(trace, plan, groups[0], root);
  return {
    plan,
    groups,
    assumptions: [],
    ...run,
    tracker: new RankMemTracker({ secondIteration: "reset" }).update(run.trace),
  };
}
