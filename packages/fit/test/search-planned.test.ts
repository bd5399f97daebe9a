import { deviceSpec } from "@remat/runtime-estimator";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
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
  .map(plansOf);

interface PlansOfBatches {
  readonly count: number;
  /** The largest batch whose plan takes no time. */
  readonly free: number;
  /** How many batches after it fit, too. */
  readonly paying: number;
  readonly slope: number;
  readonly startMs: number;
  readonly maxOverhead: number;
}

function plansOf({ count, free, paying, slope, startMs, maxOverhead }: PlansOfBatches) {
  const stepAt = (batch: number): FitStep => {
    const overhead = slope * Math.max(0, batch - free);
    const stepMs = (startMs + batch) * (1 + overhead);
    return { batch, peakBytes: batch <= free + paying ? 10 : 11, bytesByCategory: {}, stepMs, overhead };
  };
  const unit: FitUnit = {
    configuration: { device: "a100", precision: "f32", way: "recompute", ranks: 1 },
    spec: deviceSpec("a100"),
    batches: Array.from({ length: count }, (_, i) => i + 1),
    ...{ memoryBytes: 10, maxOverhead, objective: "throughput" as const, iterations: 1, seed: 0 },
    ...{ morePlans: 8, efforts: [] },
  };
  return { unit, stepAt, free };
}

/** Steps as a search asks for them, of which nothing is proven unless a bound says so. */
function triedBy(
  asked: Set<number>,
  stepAt: (batch: number, effort: number) => FitStep,
  leastBytesAt: (batch: number) => number = () => 0,
): TriedSteps {
  const tried: Pick<TriedSteps, "at" | "has" | "boundOf" | "impossibleFrom"> = {
    at: async (batch, effort) => {
      asked.add(batch);
      return stepAt(batch, effort ?? 1);
    },
    has: (batch) => asked.has(batch),
    boundOf: async (batch) => ({ leastBytes: leastBytesAt(batch), leastMs: batch }),
    impossibleFrom: undefined,
  };
  return tried as TriedSteps;
}

it("finds at least what the largest batch gives that takes no time, with a few plans", async () => {
  await fc.assert(fc.asyncProperty(plans, findsTheFree));
});

it.each([
  // Batches within the tolerance of the largest one found take no time either.
  [{ count: 217, free: 165, paying: 0, slope: 0.0125, startMs: 0.00001, maxOverhead: 0.05 }],
  [{ count: 294, free: 218, paying: 1, slope: 0.00325, startMs: 5, maxOverhead: 0.05 }],
  [{ count: 289, free: 231, paying: 95, slope: 0.5, startMs: 0.006, maxOverhead: 0.05 }],
])("finds it beside the largest that a search by halves ends at: %o", (batches) => findsTheFree(plansOf(batches)));

async function findsTheFree({ unit, stepAt, free }: ReturnType<typeof plansOf>): Promise<void> {
  const asked = new Set<number>();
  const found = await searchPlanned(unit, triedBy(asked, stepAt));
  const rate = (step: FitStep): number => step.batch / step.stepMs!;
  if (free === 0) {
    if (found !== undefined) expect(found.overhead).toBeLessThanOrEqual(unit.maxOverhead);
    return;
  }
  const largest = stepAt(Math.min(free, unit.batches.length));
  expect(rate(found!)).toBeGreaterThanOrEqual(rate(largest) * (1 - 1e-12));
  expect(asked.size).toBeLessThan(30);
}

describe("beyond the largest batch that a first search finds", () => {
  /**
   * Batches that fit up to a limit. A search finds those that are easy enough for its effort; larger ones are harder.
   * The bound need not be tight.
   */
  const hidden = fc
    .record({
      count: fc.integer({ min: 1, max: 200 }),
      easy: fc.integer({ min: 1, max: 100 }),
      widths: fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 3, maxLength: 3 }),
      slack: fc.integer({ min: 0, max: 30 }),
    })
    .map(({ count, easy, widths, slack }) => {
      const efforts = [4, 16, 64];
      const found = (effort: number): number =>
        widths.reduce((sum, width, i) => (efforts[i] <= effort ? sum + width : sum), easy);
      const [fitting, bound] = [found(64), found(64) + slack];
      const unit: FitUnit = {
        configuration: { device: "a100", precision: "f32", way: "recompute", ranks: 1 },
        spec: deviceSpec("a100"),
        batches: Array.from({ length: count }, (_, i) => i + 1),
        ...{ memoryBytes: 10, maxOverhead: 0.3, iterations: 1, seed: 0, morePlans: 8, efforts },
        objective: "batch",
      };
      const stepAt = (batch: number, effort: number): FitStep => ({
        ...{ batch, bytesByCategory: {}, stepMs: 2 * batch, overhead: 0 },
        peakBytes: batch <= found(effort) ? 10 : 11,
      });
      return { unit, stepAt, fitting, bound, easy };
    });

  it("finds the largest that the most effort finds, and asks for none that is proven not to fit but the next", async () => {
    let further = 0;
    await fc.assert(
      fc.asyncProperty(hidden, async ({ unit, stepAt, fitting, bound, easy }) => {
        const asked = new Set<number>();
        const tried = triedBy(asked, stepAt, (batch) => (batch <= bound ? 10 : 11));
        const found = await searchPlanned(unit, tried);
        expect(found?.batch).toBe(Math.min(fitting, unit.batches.length));
        expect(tried.impossibleFrom).toBe(bound < unit.batches.length ? bound + 1 : undefined);
        expect(Math.max(...asked)).toBeLessThanOrEqual(Math.max(bound, fitting + 1));
        if (found!.batch > easy) further++;
      }),
    );
    expect(further).toBeGreaterThan(5);
  });

  it("looks no longer where no batch there could take more samples a second", async () => {
    await fc.assert(
      fc.asyncProperty(hidden, async ({ unit, stepAt, bound }) => {
        const efforts = new Set<number>();
        // Two milliseconds a sample with a plan, and as many without.
        const tried = triedBy(
          new Set(),
          (batch, effort) => {
            efforts.add(effort);
            return stepAt(batch, effort);
          },
          (batch) => (batch <= bound ? 10 : 11),
        );
        tried.boundOf = async (batch) => ({ leastBytes: batch <= bound ? 10 : 11, leastMs: 2 * batch });
        await searchPlanned({ ...unit, objective: "throughput" }, tried);
        expect([...efforts]).toEqual([1]);
      }),
    );
  });
});
