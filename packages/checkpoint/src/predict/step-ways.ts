import { openDispatchMode } from "@remat/dispatch-hook";
import { RuntimeSource, type Trace } from "@remat/trace";
import type { StepWay } from "@remat/tracer";
import { applyPlan } from "../plan/apply-plan.js";
import { earlyRelease } from "../release/early-release.js";
import { rehearsal } from "../update/rehearsal.js";
import { UpdateReleaser } from "../update/update-releaser.js";

const waysToTrain = ["stock", "released", "planned"] as const;

/** A training strategy: unmodified, with early release, or under a plan. */
export type WayToTrain = (typeof waysToTrain)[number];

/**
 * Returns the strategies as steps to run, to measure their time outside of ops. None of them needs much more memory
 * than early release: here the baseline also releases early, although it fills its arrays of ones like unmodified
 * TensorFlow.js. The plan recomputes nothing, and also keeps tensors that early release does not save. Only a plan
 * watches ops during training.
 */
export async function stepWays(trace: Trace): Promise<readonly StepWay[]> {
  const { count } = trace.ops;
  const evenly = trace.withRuntimes({
    runtimeMs: new Float64Array(count).fill(1),
    runtimeSource: new Uint8Array(count).fill(RuntimeSource.measured),
  });
  // Predictions of memory need no planner.
  const { planCheckpointing } = await import("@remat/planner");
  const { point } = await planCheckpointing(evenly, { budgetFraction: 1, timeMs: 100 });
  // Use the gradients of the trace, even if others are faster.
  const releasing = () =>
    openDispatchMode({
      ...earlyRelease(new UpdateReleaser(rehearsal)),
      fasterGradients: trace.header.fasterGradients ?? "none",
    });
  const ways: Readonly<Record<WayToTrain, StepWay>> = {
    stock: {
      open: () =>
        openDispatchMode({ ...earlyRelease(new UpdateReleaser(rehearsal)), sharesOnes: false, sharesSaved: false }),
      times: "step",
    },
    released: { open: releasing, times: "both" },
    planned: { open: () => (point === undefined ? releasing() : applyPlan(point.plan).close), times: "ops" },
  };
  return waysToTrain.map((way) => ways[way]);
}

/**
 * Returns the measured times by strategy, from the order of {@link stepWays}. A step under a plan does what early
 * release does, and also watches ops. If it was measured as faster, that is noise, and both get the same time.
 */
export function hostMsOf(hostMsByWay: readonly number[]): Readonly<Record<WayToTrain, number>> {
  const [stock, released, planned] = hostMsByWay;
  return { stock, released, planned: Math.max(planned, released) };
}
