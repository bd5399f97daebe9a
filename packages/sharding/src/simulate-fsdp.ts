import { requireMemoryTrace } from "@remat/memory/tracker";
import { EventKind, RematError, type Trace } from "@remat/trace";
import { accumulatedRun } from "./accumulated-run.js";
import { CheckpointedRun, type RunForPlan, refuseParts } from "./checkpointed-run.js";
import { simulateDataParallel } from "./data-parallel.js";
import { type FSDPMemTracker, RankMemTracker } from "./fsdp-mem-tracker.js";
import type { Communication } from "./fsdp-rank.js";
import { rootModule } from "./match-modules.js";
import { type ParameterGroup, parameterGroups, requireParameters } from "./parameter-groups.js";
import { RankSimulator } from "./rank-simulator.js";
import { shardedUnits } from "./sharded-units.js";
import { checkShardingPlan, type ShardingPlan, type WrappedPlan } from "./sharding-plan.js";
import type { StreamWork } from "./stream-work.js";
import { usualWrap } from "./usual-wrap.js";

/** What a rank would hold. */
export interface FsdpSimulation {
  /** As it was given, with what is wrapped. */
  readonly plan: ShardingPlan & Required<Pick<ShardingPlan, "wrap">>;
  readonly groups: readonly ParameterGroup[];
  /** What was taken to be so, as the run does not show it: notes of the trace, too. */
  readonly assumptions: readonly string[];
  /** The run on that rank, with FSDP's own ops, buffers and hooks: for timelines, moments and displays like any other. */
  readonly trace: Trace;
  /** What the rank's streams do besides the ops of the model, in order; see {@link scheduleStreams}. */
  readonly work: readonly StreamWork[];
  /** How many steps the run has. */
  readonly steps: number;
  /** What the rank receives from others, on average over the steps of the run. */
  readonly communication: Communication;
  /** The tracker that has read it; its statistics by module are of the last iteration. */
  readonly tracker: FSDPMemTracker;
}

/**
 * Predicts the memory of one rank under FSDP from a run on one device: shards with padding, gathering and its buffers, prefetching, reduction
 * in the reduction dtype, sharded gradients and optimizer states, lower precision, offload; checkpointing as the plan says, or as recorded.
 *
 * It follows PyTorch's FSDP2 event by event. A step that was recorded in the dtype of the plan, too (`recordedIn`), is simulated on that. What cannot be known of one that was not: casts in the model's own code (tell them as `explicitCasts`), kernels
 * that another dtype would choose, and optimizer states that are not of their parameter's shape, which stay whole.
 *
 * @param runs of `trace`, where several plans are simulated on it; left out: made for this one
 * @throws RematError `SHARDING_PLAN`, as {@link CheckpointedRun.under}, `TRACE_SHARDED`, `TRACE_NO_BACKWARD`, `TRACE_NO_LIFETIMES`, `TRACE_NO_PARAMETERS`, `TRACE_EVENT_ORDER`
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
  if (trace.events.kind.includes(EventKind.fsdpHook))
    throw new RematError(
      "TRACE_SHARDED",
      `the run of '${trace.header.model ?? "a model"}' was sharded by FSDP when it was recorded; expected one on one device. What its rank held is what remat memory shows without a sharding plan.`,
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
    // Who asks for the peak alone has no need of every module's states.
    get tracker() {
      tracker ??= new RankMemTracker({ secondIteration: "reset" }).update(sharded);
      return tracker;
    },
  };
}

/** A run of one rank of several shows what that held: there is nothing to shard. */
function requireOneProcess(trace: Trace): void {
  const collective = trace.strings.find(
    (name, id) => /^(fsdp|c10d|_c10d_functional)\./.test(name) && trace.ops.name.includes(id),
  );
  if (collective === undefined) return;
  throw new RematError(
    "TRACE_SHARDED",
    `the run of '${trace.header.model ?? "a model"}' is of one of several ranks: it has ops such as ${collective}; expected one on one device. What its rank held is what remat memory shows without a sharding plan.`,
  );
}

/** Parameters are whole: {@link simulateDataParallel}. */
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
