import { CheckpointedSteps } from "@remat/memory/checkpointing";
import { holdPlan, sequenceGraphOfTrace } from "@remat/memory/sequence";
import { type CheckpointingAnswer, planCheckpointing, workingSet } from "@remat/planner";
import { planTorchCheckpoints } from "@remat/planner/executors";
import { planningGraphOfTrace } from "@remat/planner/graph";
import { usualWrap } from "@remat/sharding";
import type { Trace } from "@remat/trace";
import type { FitStep, FitUnit } from "../fit-unit.js";
import type { FitWay, PlanBound } from "./fit-way.js";
import { takePasses } from "./passes.js";
import { freeStep, msOfStep } from "./priced.js";
import { isSharded, microBatchesOf, shardedStep } from "./sharded.js";

/**
 * The strategy that recomputes. It uses a plan within the available memory, or, on a rank, checkpoints the repeated
 * blocks.
 */
export const recomputeWay: FitWay = {
  name: "recompute",
  purpose: "a plan within the memory of the device; when sharded, repeated blocks are checkpointed",
  isPlanned: (unit) => !isSharded(unit),
  refuses: (unit, { framework, name }) =>
    isSharded(unit) && framework !== "pytorch"
      ? `checkpointing on several ranks is supported for PyTorch runs only, and ${name} is a run of ${framework}`
      : undefined,
  async stepWith(unit, steps, batch, effort) {
    const trace = await freeStep(unit, steps, batch);
    if (isSharded(unit)) return shardedStep(unit, trace, batch, { checkpoint: [{ modules: usualWrap(trace) }] });
    return steps.framework === "pytorch"
      ? torchStep(unit, trace, batch, effort)
      : plannedStep(unit, trace, batch, effort, undefined);
  },
  async boundOf(unit, steps, batch) {
    const trace = await freeStep(unit, steps, batch);
    return steps.framework === "pytorch" ? torchBound(unit, trace, batch) : planBound(trace, undefined);
  },
};

/**
 * The strategy that offloads or recomputes, whichever is cheaper. On a rank, shards and optimizer states are on the
 * host.
 */
export const offloadWay: FitWay = {
  name: "offload",
  purpose: "a plan that also offloads to host memory; when sharded, weights and optimizer states are offloaded",
  isPlanned: (unit) => !isSharded(unit),
  refuses(unit, { framework, name }) {
    if (isSharded(unit)) return undefined;
    if (framework !== "tfjs")
      return `plans that offload are supported for TensorFlow.js only, and ${name} is a run of ${framework}; use --ranks for FSDP's offloading`;
    return unit.spec.linkGBps === undefined
      ? `the rate between ${unit.spec.name} and host memory is unknown: use a device with linkGBps`
      : undefined;
  },
  async stepWith(unit, steps, batch, effort) {
    const trace = await freeStep(unit, steps, batch);
    if (isSharded(unit)) return shardedStep(unit, trace, batch, { cpuOffload: true });
    return plannedStep(unit, trace, batch, effort, linkOf(unit));
  },
  boundOf: async (unit, steps, batch) => planBound(await freeStep(unit, steps, batch), linkOf(unit)),
};

function linkOf({ spec }: FitUnit): number {
  return spec.linkGBps! * 1e9;
}

async function plannedStep(
  { memoryBytes, maxOverhead, objective, iterations, seed }: FitUnit,
  trace: Trace,
  batch: number,
  effort: number,
  linkBytesPerSecond: number | undefined,
): Promise<FitStep> {
  const sequenceGraph = sequenceGraphOfTrace(trace);
  const { point, infeasible } = await planCheckpointing(trace, {
    ...(objective === "memory" ? { maxOverhead } : { budgetBytes: memoryBytes }),
    iterations: iterations * effort,
    seed,
    // A bound limited by time would differ from run to run.
    boundTimeMs: 0,
    linkBytesPerSecond,
    sequenceGraph,
  });
  if (point === undefined) return leastOf(infeasible!, batch);
  const { peakBytes, overhead, plan } = point;
  const { bytesByCategory } = holdPlan(trace, plan, sequenceGraph);
  return {
    ...{ batch, peakBytes, bytesByCategory, stepMs: point.stepMs, overhead, gap: plan.predicted.gap },
    ...(effort > 1 && { effort }),
  };
}

function planBound(trace: Trace, linkBytesPerSecond: number | undefined): PlanBound {
  const graph = planningGraphOfTrace(trace, linkBytesPerSecond === undefined ? {} : { linkBytesPerSecond });
  return { leastBytes: workingSet(graph, false).bytes, leastMs: msOfStep(trace) || undefined };
}

/** Returns a step for the smallest memory found, with that memory divided into its main categories. */
function leastOf(
  { smallestFoundBytes, heldBytes, waitingBytes }: NonNullable<CheckpointingAnswer["infeasible"]>,
  batch: number,
): FitStep {
  const activation = Math.max(0, smallestFoundBytes - heldBytes - waitingBytes);
  const bytesByCategory = { parameter: heldBytes, gradient: waitingBytes, activation };
  return { batch, peakBytes: smallestFoundBytes, bytesByCategory, stepMs: undefined, overhead: 0 };
}

/**
 * Returns bounds for checkpoint policies. The bound on memory is 0, because no lower bound for all policies is known.
 */
function torchBound(unit: FitUnit, trace: Trace, batch: number): PlanBound {
  return { leastBytes: 0, leastMs: takePasses(unit, trace, batch).ms || undefined };
}

/**
 * The number of rounds without an improvement after which a search ends. It is small because there are many batches.
 */
const torchRounds = 10;

function torchStep(unit: FitUnit, trace: Trace, batch: number, effort: number): FitStep {
  const { memoryBytes, maxOverhead, objective, seed } = unit;
  const run = new CheckpointedSteps(trace);
  const passes = microBatchesOf(unit, batch) ?? 1;
  const plain = takePasses(unit, trace, batch);
  const plainMs = plain.ms;
  if (objective !== "memory" && plain.peakBytes <= memoryBytes) {
    const { peakBytes, bytesByCategory } = plain;
    return { batch, peakBytes, bytesByCategory, stepMs: plainMs || undefined, overhead: 0, policy: [] };
  }
  /** The factor from the overhead of one pass to that of a step, or 0 if ops have no times. */
  const share = plainMs > 0 ? (passes * msOfStep(trace)) / plainMs : 0;
  for (let bytes = memoryBytes; ; ) {
    const { found, least } = planTorchCheckpoints(trace, {
      ...(objective === "memory" ? {} : { budget: { bytes } }),
      maxOverhead: share > 0 ? maxOverhead / share : maxOverhead,
      rounds: torchRounds * effort,
      seed,
      // The smallest peak only matters if nothing fits.
      findsLeast: false,
      // The search ends by rounds instead of time, so that it is reproducible.
      now: () => 0,
    });
    const { policy, overhead: ofPass } = found ?? least;
    const { peakBytes, bytesByCategory } = takePasses(unit, run.under(policy, ""), batch);
    const overhead = ofPass * share;
    const step = {
      batch,
      peakBytes,
      bytesByCategory,
      stepMs: plainMs > 0 ? plainMs * (1 + overhead) : undefined,
      overhead,
      policy,
      ...(effort > 1 && { effort }),
    };
    const overBytes = peakBytes - memoryBytes;
    if (found === undefined || objective === "memory" || overBytes <= 0 || overBytes >= bytes) return step;
    // Gradients of earlier passes take memory in addition to that of a pass, so the budget of a pass shrinks by the
    // excess.
    bytes -= overBytes;
  }
}
