import { afterAll, beforeAll, expect, test } from "vitest";
import { planCheckpointing } from "../../src/checkpointing/plan-checkpointing.js";
import { planSchedules } from "../../src/checkpointing/plan-schedules.js";
import { planningGraphOfTrace } from "../../src/graph/planning-graph-of-trace.js";
import { planCheckpointing as planFromSources } from "../../src/node/index.js";
import { trainingTrace } from "../training-trace.js";
import { buildPlanner } from "./build-planner.js";

const trace = trainingTrace(12);
let built: Awaited<ReturnType<typeof buildPlanner>>;
beforeAll(async () => {
  built = await buildPlanner();
});
afterAll(() => built.remove());

/** The part of an answer that does not depend on the clock. */
const timeless = <T>(answer: T): T =>
  JSON.parse(JSON.stringify(answer, (key, value) => (key === "seconds" ? 0 : value)));

test("a front is the same from worker threads as from one thread", async () => {
  const options = { budgetFraction: 0.17, paretoPoints: 4, iterations: 30_000, boundTimeMs: 0, seed: 3 };
  const here = await planCheckpointing(trace, options);
  const there = await built.planner.planCheckpointing(trace, { ...options, workers: 2 });
  expect(here.front).toHaveLength(4);
  expect(timeless(there)).toEqual(timeless(here));
});

test("the best of several searches with different seeds counts, wherever they run", async () => {
  const graph = planningGraphOfTrace(trace);
  const options = { budgetFraction: 0.8, iterations: 6000, boundTimeMs: 0 };
  const alone = await planSchedules(graph, options);
  const here = await planSchedules(graph, { ...options, iterations: 18_000, searches: 3 });
  const there = await built.planner.planSchedules(graph, { ...options, iterations: 18_000, searches: 3, workers: 3 });
  expect(there.point!.schedule.sequence).toEqual(here.point!.schedule.sequence);
  expect(there.point!.schedule.cost).toBeLessThanOrEqual(alone.point!.schedule.cost);
});

test("progress is told from worker threads, and an abort reaches them", async () => {
  const controller = new AbortController();
  const told: number[] = [];
  const { point } = await built.planner.planSchedules(planningGraphOfTrace(trace), {
    budgetFraction: 0.8,
    // A day: that the search ends at all is due to the abort.
    timeMs: 86_400_000,
    boundTimeMs: 0,
    workers: 2,
    signal: controller.signal,
    onProgress: ({ elapsedMs, cost }) => {
      told.push(elapsedMs);
      // On a busy machine the first progress may be reported before anything is found.
      if (cost !== undefined) controller.abort();
    },
  });
  expect(told.length).toBeGreaterThan(0);
  expect(point!.schedule.peakBytes).toBeLessThanOrEqual(point!.budgetBytes);
});

test("one thread does everything if the worker's file is missing", async () => {
  const options = { budgetFraction: 0.17, iterations: 6000, boundTimeMs: 0, searches: 2 };
  const here = await planCheckpointing(trace, options);
  expect(timeless(await planFromSources(trace, { ...options, workers: 2 }))).toEqual(timeless(here));
});

test.each([0, 1.5, Number.NaN])("%s workers are refused", async (workers) => {
  await expect(planFromSources(trace, { budgetFraction: 0.5, workers })).rejects.toThrow(
    `workers must be a whole number of at least 1; found ${JSON.stringify(workers)}. Leave it out for one per core.`,
  );
});
