import { openDispatchMode } from "@remat/dispatch-hook";
import { planCheckpointing } from "@remat/planner";
import { RuntimeSource, type Trace } from "@remat/trace";
import type { StepWay } from "@remat/tracer";
import { applyPlan } from "../plan/apply-plan.js";
import { earlyRelease } from "../release/early-release.js";
import { rehearsal } from "../update/rehearsal.js";
import { UpdateReleaser } from "../update/update-releaser.js";

const waysToTrain = ["stock", "released", "planned"] as const;

/** How a step may be taken: as it is, with early release, or after a plan. */
export type WayToTrain = (typeof waysToTrain)[number];

/**
 * Returns the ways to train, so that steps can be taken in all of them for what they take outside of ops. None holds much more than early release
 * does: stock's way fills its arrays, but releases early, too; the plan recomputes nothing, and holds besides what early release does not save. Only
 * under a plan are ops watched in training.
 */
export async function stepWays(trace: Trace): Promise<readonly StepWay[]> {
  const { count } = trace.ops;
  const evenly = trace.withRuntimes({
    runtimeMs: new Float64Array(count).fill(1),
    runtimeSource: new Uint8Array(count).fill(RuntimeSource.measured),
  });
  const { point } = await planCheckpointing(evenly, { budgetFraction: 1, timeMs: 100 });
  // The ops of the trace, whatever others are faster.
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
 * Returns, by way, what was measured in the order of {@link stepWays}. A step under a plan does what early release does, and watches its ops besides: if it was measured as quicker, that is noise, and the
 * same is taken for both.
 */
export function hostMsOf(hostMsByWay: readonly number[]): Readonly<Record<WayToTrain, number>> {
  const [stock, released, planned] = hostMsByWay;
  return { stock, released, planned: Math.max(planned, released) };
}
