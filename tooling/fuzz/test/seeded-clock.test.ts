import { expect, test } from "vitest";
import { withClock } from "../src/programs/seeded-clock.js";

const looks = async (): Promise<number[]> => Array.from({ length: 50 }, () => performance.now());

test("a clock tells the same times each time, which never go back, and another seed others", async () => {
  const times = await withClock({ seed: 3, scale: 1 }, looks);
  expect(times.toSorted((a, b) => a - b)).toEqual(times);
  expect(await withClock({ seed: 3, scale: 1 }, looks)).toEqual(times);
  expect(await withClock({ seed: 4, scale: 1 }, looks)).not.toEqual(times);
});

test("the machine's clock is there again, after an error too", async () => {
  const { now } = performance;
  await expect(withClock({ seed: 1, scale: 1 }, async () => Promise.reject(new Error("broken")))).rejects.toThrow(
    "broken",
  );
  expect(performance.now).toBe(now);
});
