import fc from "fast-check";
import { expect, it } from "vitest";
import { chooseWithin, describePlanWithin, type PlanChoice, planFrontier } from "../src/index.js";

const points = fc.array(
  fc.record({
    peakBytes: fc.integer({ min: 1, max: 1000 }),
    stepMs: fc.integer({ min: 1, max: 100 }),
    overhead: fc.constantFrom(0, 0.05, 0.1, 0.2, 0.5),
    gap: fc.constantFrom(0, 0.2),
  }),
  { maxLength: 12 },
);

it("chooses within a budget what no other plan within it is quicker than, nor as quick and smaller", () => {
  fc.assert(
    fc.property(points, fc.integer({ min: 0, max: 1100 }), (front, budgetBytes) => {
      const { point, smallest } = chooseWithin(front, budgetBytes);
      const fitting = front.filter(({ peakBytes }) => peakBytes <= budgetBytes);
      expect(point === undefined).toBe(fitting.length === 0);
      for (const { overhead, peakBytes } of fitting)
        expect(overhead > point!.overhead || (overhead === point!.overhead && peakBytes >= point!.peakBytes)).toBe(
          true,
        );
      expect(smallest?.peakBytes).toBe(front.length === 0 ? undefined : Math.min(...front.map((p) => p.peakBytes)));
    }),
  );
});

it("keeps of plans those that nothing beats, and chooses among these as among all", () => {
  fc.assert(
    fc.property(points, fc.integer({ min: 0, max: 1100 }), (all, budgetBytes) => {
      const kept = planFrontier(all);
      for (let i = 1; i < kept.length; i++) {
        expect(kept[i].peakBytes).toBeLessThan(kept[i - 1].peakBytes);
        expect(kept[i].overhead).toBeGreaterThan(kept[i - 1].overhead);
      }
      const costs = ({ point }: { readonly point: PlanChoice | undefined }) => [point?.overhead, point?.peakBytes];
      expect(costs(chooseWithin(kept, budgetBytes))).toEqual(costs(chooseWithin(all, budgetBytes)));
    }),
  );
});

it("says what a budget costs, that none is within it, and that a search has not ended", () => {
  const MiB = 2 ** 20;
  const front = [
    { peakBytes: 800 * MiB, stepMs: 100, overhead: 0, gap: 0 },
    { peakBytes: 500 * MiB, stepMs: 112.5, overhead: 0.125, gap: 0.08 },
  ];
  const say = (budgetBytes: number) =>
    describePlanWithin(chooseWithin(front, budgetBytes), { recordedPeakBytes: 1000 * MiB });
  expect(say(900 * MiB)).toEqual(["Peak memory 800 MiB, 20.0% less than as recorded; no slowdown, 100 ms per step."]);
  expect(say(600 * MiB)).toEqual([
    "Peak memory 500 MiB, 50.0% less than as recorded; 12.5% more time, 112.5 ms per step.",
    "Not proven optimal: a plan within the same memory could take up to 8.0% less time.",
  ]);
  expect(say(300 * MiB)).toEqual([
    "No plan was found within 300 MiB. The smallest found needs 500 MiB, with 12.5% more time.",
    "A longer search may find less: remat plan --time 60.",
  ]);
});
