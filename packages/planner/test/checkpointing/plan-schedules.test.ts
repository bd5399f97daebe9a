import { describe, expect, it } from "vitest";
import { planSchedules } from "../../src/checkpointing/plan-schedules.js";
import { simulateSchedule } from "../../src/schedule/simulate-schedule.js";
import { chain } from "../chain.js";

const graph = chain(16);

describe("planSchedules", () => {
  it.each(["fixed", "free"] as const)("finds a front that never crosses, order %s", async (order) => {
    const { point, front, recommended, smallest } = await planSchedules(graph, {
      budgetFraction: 0.6,
      order,
      paretoPoints: 8,
      iterations: 40_000,
      boundTimeMs: 20,
    });
    expect(point!.schedule.peakBytes).toBeLessThanOrEqual(point!.budgetBytes);
    expect(point!.budgetBytes).toBe(0.6 * point!.schedule.plain.peakBytes);
    expect(front).toHaveLength(8);
    front.forEach(({ budgetBytes, schedule }, i) => {
      const { peakBytes, cost } = simulateSchedule(graph, schedule.sequence)!;
      expect({ peakBytes, cost }).toEqual({ peakBytes: schedule.peakBytes, cost: schedule.cost });
      expect(schedule.order).toBe(order);
      expect(peakBytes).toBeLessThanOrEqual(budgetBytes);
      if (i === 0) return;
      expect(peakBytes).toBeLessThanOrEqual(front[i - 1].schedule.peakBytes);
      expect(cost).toBeGreaterThanOrEqual(front[i - 1].schedule.cost);
    });
    expect(front.at(-1)!.schedule.peakBytes).toBe(smallest.peakBytes);
    expect(recommended!.noCost.schedule.overhead).toBe(0);
    expect(recommended!.within5Percent.schedule.overhead).toBeLessThanOrEqual(0.05);
    expect(recommended!.within20Percent.schedule.overhead).toBeLessThanOrEqual(0.2);
  });

  it("finds the smallest peak within an overhead", async () => {
    const [tight, wide] = await Promise.all(
      [0.05, 0.3].map((maxOverhead) => planSchedules(graph, { maxOverhead, iterations: 40_000, boundTimeMs: 20 })),
    );
    expect(tight.point!.schedule.overhead).toBeLessThanOrEqual(0.05);
    expect(wide.point!.schedule.overhead).toBeLessThanOrEqual(0.3);
    expect(wide.point!.budgetBytes).toBeLessThan(tight.point!.budgetBytes);
  });

  it("tells the smallest peak where nothing is within the budget", async () => {
    const { point, smallest } = await planSchedules(graph, { budgetBytes: 20, iterations: 20_000, boundTimeMs: 20 });
    expect(point).toBeUndefined();
    expect(smallest.peakBytes).toBeGreaterThan(20);
    expect(smallest.peakBytes).toBeLessThan(smallest.plain.peakBytes);
  });

  it("refuses goals that are none", async () => {
    await expect(planSchedules(graph, { budgetBytes: 0 })).rejects.toThrow("budgetBytes must be a number above 0");
    await expect(planSchedules(graph, { budgetBytes: 9, maxOverhead: 1 } as never)).rejects.toThrow(
      "pass exactly one of",
    );
  });
});
