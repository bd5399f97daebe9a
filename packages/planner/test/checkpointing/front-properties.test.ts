import { dailyRuns } from "@remat/testkit";
import { readPlan, writePlan } from "@remat/trace";
import fc from "fast-check";
import { expect, test } from "vitest";
import { workingSet } from "../../src/bound/working-set.js";
import { type CheckpointingPoint, planCheckpointing } from "../../src/checkpointing/plan-checkpointing.js";
import { planSchedules } from "../../src/checkpointing/plan-schedules.js";
import { planningGraphOfTrace } from "../../src/graph/planning-graph-of-trace.js";
import { simulateSchedule } from "../../src/schedule/simulate-schedule.js";
import { cheapestCost } from "../exhaustive-search.js";
import { followPlan } from "../plan/follow-plan.js";
import { randomTraces } from "../plan/random-traces.js";
import { allGraphs, someGraphs } from "../random-graphs.js";

test("fronts of any trace have no peak above its budget or below the working set, and less memory never costs less", async () => {
  await fc.assert(
    fc.asyncProperty(randomTraces, fc.integer({ min: 1, max: 10 }), fc.nat(3), async (trace, tenths, seed) => {
      fc.pre(trace.ops.runtimeMs.some((ms) => ms > 0));
      const graph = planningGraphOfTrace(trace);
      const { point, infeasible, front, recommended } = await planCheckpointing(trace, {
        budgetFraction: tenths / 10,
        paretoPoints: 5,
        iterations: 2000,
        boundTimeMs: 0,
        seed,
      });
      const { noCost, within5Percent, within20Percent } = recommended!;
      const least = workingSet(graph, false).bytes;
      const byBudget = [...front, ...(point ? [point] : []), noCost, within5Percent, within20Percent].sort(
        (a, b) => b.budgetBytes - a.budgetBytes || a.stepMs - b.stepMs,
      );
      for (const [i, { budgetBytes, peakBytes, stepMs, plan }] of byBudget.entries()) {
        expect(peakBytes).toBeLessThanOrEqual(budgetBytes);
        expect(peakBytes).toBeGreaterThanOrEqual(least);
        expect(followPlan(trace, readPlan(writePlan(plan)))).toBe(peakBytes);
        expect(plan.predicted.lowerBound).toBeLessThanOrEqual(stepMs);
        const roomier: CheckpointingPoint | undefined = byBudget[i - 1];
        if (roomier !== undefined) expect(stepMs).toBeGreaterThanOrEqual(roomier.stepMs);
      }
      expect(front).toHaveLength(5);
      for (let i = 1; i < front.length; i++) expect(front[i].peakBytes).toBeLessThanOrEqual(front[i - 1].peakBytes);
      expect(noCost.overhead).toBe(0);
      expect(within5Percent.overhead).toBeLessThanOrEqual(0.05 + 1e-9);
      expect(within20Percent.overhead).toBeLessThanOrEqual(0.2 + 1e-9);
      expect(point === undefined).toBe(infeasible !== undefined);
      if (infeasible) expect(infeasible.smallestFoundBytes).toBe(front.at(-1)!.peakBytes);
    }),
    { numRuns: dailyRuns(150) },
  );
});

test.each(["fixed", "free"] as const)(
  "along a front each cost is that of the cheapest schedule, order %s",
  async (order) => {
    for (const graph of [...allGraphs(3), ...someGraphs(5, 20), ...someGraphs(6, 10)]) {
      const { front, smallest } = await planSchedules(graph, {
        budgetFraction: 1,
        order,
        paretoPoints: 4,
        iterations: 60_000,
        boundTimeMs: 0,
      });
      for (const { budgetBytes, schedule } of front) {
        expect(simulateSchedule(graph, schedule.sequence)).toMatchObject({
          peakBytes: schedule.peakBytes,
          cost: schedule.cost,
        });
        expect(schedule.cost).toBe(cheapestCost(graph, budgetBytes, order === "free"));
      }
      expect(cheapestCost(graph, smallest.peakBytes - 1, order === "free")).toBeUndefined();
    }
  },
);
