import { expect, test, vi } from "vitest";
import { recomputationBound } from "../src/bound/recomputation-bound.js";
import { simulateSchedule } from "../src/schedule/simulate-schedule.js";
import { solveMixedInteger } from "../src/solve-mixed-integer.js";
import { allGraphs } from "./random-graphs.js";

/** What bundlers put in its place by the package's field `browser`. */
vi.mock("highs", () => ({ default: {} }));

test("a program is refused where a page's bundle has left out the solver", async () => {
  const one = Uint8Array.of(1);
  const problem = { cost: [1], upper: one, isWhole: one, rows: [] };
  await expect(solveMixedInteger(problem, { relativeGap: 0, timeLimitS: 1 })).rejects.toMatchObject({
    code: "SOLVER_FAILED",
    message: expect.stringMatching(/^HiGHS could not be loaded \(.*\): bundles for browsers leave it out/),
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
