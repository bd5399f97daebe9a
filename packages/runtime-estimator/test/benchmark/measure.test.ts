import { expect, test } from "vitest";
import { measure } from "../../src/benchmark/measure.js";

const options = { warmUpRuns: 2, minRuns: 3, maxRuns: 50, budgetMs: 100, maxRepeats: 1000 };

/** A sampler that answers from a list and says how it was asked. */
function scripted(answers: readonly number[]) {
  const asked: number[] = [];
  return { asked, sample: (repeats: number) => answers[Math.min(asked.push(repeats), answers.length) - 1] * repeats };
}

test("leaves the warm-up out, and takes median and half the interquartile range of the rest", async () => {
  const { asked, sample } = scripted([90, 80, 10, 30, 20, 50, 40]);
  expect(await measure(sample, { ...options, budgetMs: 1000, maxRuns: 5 })).toEqual({
    medianMs: 30,
    spreadMs: 10,
    runs: 5,
  });
  expect(asked).toEqual([1, 1, 1, 1, 1, 1, 1]);
});

test("stops when the budget is spent, but not before the least number of runs", async () => {
  expect((await measure(scripted([30]).sample, options)).runs).toBe(3);
  expect((await measure(scripted([10]).sample, options)).runs).toBe(8);
  expect((await measure(scripted([1]).sample, options)).runs).toBe(50);
});

test("repeats calls that are too short for the clock, and gives the time of one", async () => {
  const { asked, sample } = scripted([0.001]);
  expect((await measure(sample, options)).medianMs).toBeCloseTo(0.001, 12);
  expect(asked.slice(0, 4)).toEqual([1, 1, 100, 100]);
  const limited = scripted([0]);
  await measure(limited.sample, { ...options, maxRepeats: 7 });
  expect(Math.max(...limited.asked)).toBe(7);
});

test("stops at once when aborted", async () => {
  const controller = new AbortController();
  let samples = 0;
  const sample = () => {
    if (++samples === 4) controller.abort(new Error("enough"));
    return 1;
  };
  await expect(measure(sample, { ...options, signal: controller.signal })).rejects.toThrow("enough");
  expect(samples).toBe(4);
});
