import { deviceSpec } from "@remat/runtime-estimator";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { FitStep, FitUnit } from "../src/index.js";
import { searchPlanned } from "../src/search/search-planned.js";
import type { TriedSteps } from "../src/search/tried-steps.js";

/** Steps whose plans take no time up to a batch, then more and more, and fit up to another. */
const plans = fc
  .record({
    count: fc.integer({ min: 1, max: 300 }),
    free: fc.integer({ min: 0, max: 300 }),
    paying: fc.integer({ min: 0, max: 300 }),
    slope: fc.double({ min: 1e-4, max: 0.5, noNaN: true }),
    startMs: fc.double({ min: 0, max: 5, noNaN: true }),
    maxOverhead: fc.constantFrom(0.05, 0.3, 10),
  })
  .map(({ count, free, paying, slope, startMs, maxOverhead }) => {
    const stepAt = (batch: number): FitStep => {
      const overhead = slope * Math.max(0, batch - free);
      const stepMs = (startMs + batch) * (1 + overhead);
      return { batch, peakBytes: batch <= free + paying ? 10 : 11, bytesByCategory: {}, stepMs, overhead };
    };
    const unit: FitUnit = {
      configuration: { device: "a100", precision: "f32", way: "recompute", ranks: 1 },
      spec: deviceSpec("a100"),
      batches: Array.from({ length: count }, (_, i) => i + 1),
      ...{ memoryBytes: 10, maxOverhead, objective: "throughput" as const, iterations: 1, seed: 0, morePlans: 8 },
    };
    return { unit, stepAt, free };
  });

it("finds at least what the largest batch gives that takes no time, with a few plans", async () => {
  await fc.assert(
    fc.asyncProperty(plans, async ({ unit, stepAt, free }) => {
      const asked = new Set<number>();
      const tried: Pick<TriedSteps, "at" | "has"> = {
        at: async (batch) => {
          asked.add(batch);
          return stepAt(batch);
        },
        has: (batch) => asked.has(batch),
      };
      const found = await searchPlanned(unit, tried as TriedSteps);
      const rate = (step: FitStep): number => step.batch / step.stepMs!;
      if (free === 0) {
        if (found !== undefined) expect(found.overhead).toBeLessThanOrEqual(unit.maxOverhead);
        return;
      }
      const largest = stepAt(Math.min(free, unit.batches.length));
      expect(rate(found!)).toBeGreaterThanOrEqual(rate(largest) * (1 - 1e-12));
      expect(asked.size).toBeLessThan(30);
    }),
  );
});
