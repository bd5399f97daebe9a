import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { greedyOrder, type SACStats, sacStats, tradeOff } from "../src/index.js";
import { randomRun, traceOf } from "./random-run.js";

const int32 = (...values: number[]): Int32Array => Int32Array.from(values);

function stats(memoryBytes: readonly number[], runtimesMs: readonly number[], more: Partial<SACStats> = {}): SACStats {
  return {
    ops: Int32Array.from(memoryBytes.keys()),
    funcNames: memoryBytes.map((_, i) => `op${i}`),
    memoryBytes: Float64Array.from(memoryBytes),
    runtimesMs: Float64Array.from(runtimesMs),
    viewLikeOps: int32(),
    randOps: int32(),
    savedAutogradOps: int32(),
    inplaceOps: int32(),
    inplaceParents: int32(),
    forceStoreRandom: false,
    ...more,
  };
}

const of = (one: SACStats, nSegments?: number) =>
  tradeOff(one, greedyOrder(one), nSegments === undefined ? {} : { nSegments });
const near = (...values: number[]) => values.map((value) => expect.closeTo(value, 12));

test("goes through the candidates by memory per time, and ends with all memory and all time", () => {
  const found = of(stats([100, 300, 0, 600], [2, 1, 1, 4], { viewLikeOps: int32(2) }));
  expect([...found.tradeoffCurve.discardedMemory]).toEqual(near(0.01, 0.31, 0.91, 1.01));
  expect([...found.tradeoffCurve.recomputationTime]).toEqual(near(1 / 8, 2 / 8, 6 / 8, 1));
  expect([found.sacMemoryBytes, found.sacRuntimeMs, found.nSegments]).toEqual([1000, 8, 1]);
});

test("is finite for every run, never falls, and is fitted by as many segments as there is room for", () => {
  fc.assert(
    fc.property(randomRun, fc.integer({ min: 1, max: 4 }), (run, nSegments) => {
      for (const one of sacStats(traceOf(run)).values()) {
        const { tradeoffCurve, slopes, intercepts, fitBreaks, ...found } = of(one, nSegments);
        const { discardedMemory: x, recomputationTime: y } = tradeoffCurve;
        expect([...x, ...y, ...slopes, ...intercepts, ...fitBreaks].every(Number.isFinite)).toBe(true);
        for (let i = 1; i < x.length; i++) expect([x[i] > x[i - 1], y[i] >= y[i - 1] - 1e-12]).toEqual([true, true]);
        expect(found.nSegments).toBe(Math.max(1, Math.min(x.length - 3, nSegments)));
        expect([slopes.length, intercepts.length, fitBreaks.length]).toEqual([
          found.nSegments,
          found.nSegments,
          found.nSegments + 1,
        ]);
      }
    }),
  );
});

describe("an in-place op that draws random numbers", () => {
  // bernoulli_ (1) writes into empty_like (0), and is the first of the random ops 1 and 3.
  const one = stats([100, 100, 200, 300, 300], [1, 1, 2, 2, 4], {
    inplaceOps: int32(1),
    inplaceParents: int32(0),
    randOps: int32(1, 3),
  });

  test("is counted once, with the group that comes first", () => {
    const { discardedMemory, recomputationTime } = of(one).tradeoffCurve;
    expect([...discardedMemory]).toEqual(near(0.01, 0.41, 0.51, 0.71, 1.01));
    expect([...recomputationTime]).toEqual(near(0, 3 / 10, 4 / 10, 6 / 10, 1));
  });

  test("is counted with both as in PyTorch, so that there is more than all", () => {
    const { tradeoffCurve } = tradeOff(one, greedyOrder(one), { asPytorch: true });
    expect([...tradeoffCurve.discardedMemory]).toEqual(near(0.01, 0.41, 0.61, 0.81, 1.11));
    expect([...tradeoffCurve.recomputationTime]).toEqual(near(0, 3 / 10, 5 / 10, 7 / 10, 1.1));
  });
});

test("ends with all memory and all time, in every run", () => {
  fc.assert(
    fc.property(randomRun, (run) => {
      for (const one of sacStats(traceOf(run)).values()) {
        const { discardedMemory, recomputationTime } = of(one).tradeoffCurve;
        const all = (values: Float64Array): number => (values.some((value) => value > 0) ? 1 : 0);
        expect(discardedMemory.at(-1)).toBeCloseTo(all(one.memoryBytes) + 0.01, 12);
        expect(recomputationTime.at(-1)).toBeCloseTo(all(one.runtimesMs), 12);
      }
    }),
  );
});

describe("cases in which PyTorch divides by zero or fits NaN", () => {
  test.each([
    ["no ops", stats([], []), [0.01], [0]],
    ["no memory", stats([0, 0], [1, 3]), [0.01], [1]],
    ["only views, and no time", stats([0, 0], [0, 0], { viewLikeOps: int32(0, 1) }), [0.01], [0]],
    ["no time", stats([5, 5], [0, 0]), [0.01, 0.51, 1.01], [0, 0, 0]],
    ["a curve with one point to fit", stats([5], [2]), [0.01, 1.01], [0, 1]],
  ])("%s: there is an answer", (_, one, x, y) => {
    const { tradeoffCurve, slopes, intercepts, fitBreaks } = of(one);
    expect([...tradeoffCurve.discardedMemory]).toEqual(near(...x));
    expect([...tradeoffCurve.recomputationTime]).toEqual(near(...y));
    expect([...slopes, ...intercepts, ...fitBreaks].every(Number.isFinite)).toBe(true);
  });
});
