import { afterAll, expect, test, vi } from "vitest";
import { simulateSchedule } from "../src/schedule/simulate-schedule.js";
import { allGraphs } from "./random-graphs.js";

/** The replacement that bundlers use because of the package's field `browser`. */
vi.doMock("highs", () => ({ default: {} }));
// Other files may have loaded it.
vi.resetModules();
const { recomputationBound } = await import("../src/bound/recomputation-bound.js");
const { solveMixedInteger } = await import("../src/solve-mixed-integer.js");
afterAll(() => {
  vi.doUnmock("highs");
  vi.resetModules();
});

test("a program is refused where a page's bundle has left out the solver", async () => {
  const one = Uint8Array.of(1);
  const problem = { cost: [1], upper: one, isWhole: one, rows: [] };
  await expect(solveMixedInteger(problem, { relativeGap: 0, timeLimitS: 1 })).rejects.toMatchObject({
    code: "SOLVER_FAILED",
    message: expect.stringMatching(/^the solver HiGHS could not be loaded \(.*\): browser bundles leave it out/),
  });
});

test("a bound is zero there", async () => {
  for (const graph of allGraphs(3)) {
    const plain = Array.from({ length: graph.nodeCount }, (_, v) => v);
    const { peakBytes } = simulateSchedule(graph, plain)!;
    const bound = await recomputationBound(graph, peakBytes - 1, { timeLimitS: 1 });
    expect(bound).toEqual({ extraCost: 0, isInfeasible: false });
  }
});
