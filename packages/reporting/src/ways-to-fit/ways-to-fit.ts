import { StepFacts } from "@remat/memory/sequence";
import { planCheckpointing } from "@remat/planner";
import { executorOf, planTorchCheckpoints, torchCheckpointExecutor } from "@remat/planner/executors";
import { deviceSpecs } from "@remat/runtime-estimator";
import { countReplayedOps, type DeviceSpec, Phase, type Trace } from "@remat/trace";
import { freeWay } from "../verdict/free-way.js";
import type { WayToFit } from "../verdict/way-to-fit.js";
import { fewestRanks } from "./fewest-ranks.js";
import { largestBatch, type PeakOfBatch } from "./largest-batch.js";
import { leastOfPlans } from "./least-held.js";

/** Options of {@link waysToFit}. */
export interface WaysToFitOptions {
  /** Memory of the device. */
  readonly memoryBytes: number;
  /**
   * The batch of the step, and a function for its peak with another batch. Left out if the step cannot be traced again.
   */
  readonly batch?: { readonly samples: number; readonly peakOf: PeakOfBatch };
  /** Called with a description of each search. */
  readonly onProgress?: (what: string) => void;
}

/**
 * Number of changes that the search tries. There are few, so that the answer comes quickly. The search only shows
 * whether a plan exists, and `remat plan` finds the best one.
 */
const iterations = 200;
const rounds = 10;

/**
 * Suggests how to make a step fit if it exceeds the memory. Each suggestion is computed for this step.
 *
 * If early release or a plan without recomputation is enough, this is the only suggestion. Otherwise the smallest
 * change comes first: a plan, a smaller batch, weights sharded over several devices, a larger device. Empty if the step
 * fits, or if nothing helps.
 *
 * @throws RematError as `heldPeak` does
 * @example
 * const ways = await waysToFit(trace, { memoryBytes: deviceSpec("t4").memoryBytes });
 */
export async function waysToFit(step: Trace | StepFacts, options: WaysToFitOptions): Promise<readonly WayToFit[]> {
  const { memoryBytes, batch, onProgress } = options;
  const facts = StepFacts.of(step);
  const { trace, earlyReleasePeakBytes } = facts;
  const { peakBytes } = facts.peak;
  if (peakBytes <= memoryBytes) return [];
  // Early release and plans apply to the step without its own recomputation, so a trace that includes it cannot predict
  // their effect.
  const canPlan = countReplayedOps(trace) === 0;
  if (canPlan && trace.header.framework === "tfjs") {
    const { unrecomputedPeakBytes } = facts;
    const free = freeWay({ peakBytes, earlyReleasePeakBytes, unrecomputedPeakBytes });
    if (free !== undefined && free.peakBytes <= memoryBytes) return [free];
  }
  const ways: (WayToFit | undefined)[] = [];
  if (canPlan) {
    onProgress?.("looking for a plan that fits");
    ways.push(await plan(facts, memoryBytes));
  }
  if (batch !== undefined) {
    onProgress?.("looking for a batch that fits");
    ways.push(await largestBatch(batch.samples, peakBytes, memoryBytes, batch.peakOf));
  }
  onProgress?.("sharding the weights");
  ways.push(fewestRanks(trace, memoryBytes), largerDevice(peakBytes));
  return ways.filter((way) => way !== undefined);
}

async function plan(facts: StepFacts, budgetBytes: number): Promise<WayToFit | undefined> {
  const { planned: trace } = facts;
  if (!trace.hasPhase(Phase.backward) || !trace.ops.runtimeMs.some((ms) => ms > 0)) return undefined;
  if (executorOf(trace) === torchCheckpointExecutor) {
    const { found } = planTorchCheckpoints(trace, {
      budget: { bytes: budgetBytes },
      rounds,
      findsLeast: false,
      now: () => 0,
    });
    return found && { kind: "plan", peakBytes: found.peakBytes, overhead: found.overhead };
  }
  if ((leastOfPlans(facts) ?? 0) > budgetBytes) return undefined;
  const { sequenceGraph } = facts;
  const { point } = await planCheckpointing(trace, { budgetBytes, iterations, boundTimeMs: 0, sequenceGraph });
  return point && { kind: "plan", peakBytes: point.peakBytes, overhead: point.overhead };
}

/** Returns the smallest known device with enough memory. */
function largerDevice(peakBytes: number): WayToFit | undefined {
  const enough = Object.values<DeviceSpec>(deviceSpecs)
    .filter(({ memoryBytes = 0 }) => memoryBytes >= peakBytes)
    .sort((a, b) => a.memoryBytes! - b.memoryBytes!);
  return enough.length === 0
    ? undefined
    : { kind: "device", peakBytes, device: enough[0].name, memoryBytes: enough[0].memoryBytes! };
}
