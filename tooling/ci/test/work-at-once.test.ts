import { setTimeout as wait } from "node:timers/promises";
import { expect, it } from "vitest";
import { workAtOnce } from "../src/work-at-once.js";

it("begins in order, works on so many and no more, and gives results in order", async () => {
  const begun: number[] = [];
  const lengths: number[] = [];
  let working = 0;
  const results = await workAtOnce([30, 1, 10, 1, 1], 2, async (ms) => {
    begun.push(ms);
    lengths.push(++working);
    await wait(ms);
    working--;
    return 2 * ms;
  });
  expect(results).toEqual([60, 2, 20, 2, 2]);
  expect(begun).toEqual([30, 1, 10, 1, 1]);
  expect(Math.max(...lengths)).toBe(2);
});

it("fails with what fails", async () => {
  await expect(workAtOnce([1, 2], 2, (n) => (n === 2 ? Promise.reject(new Error("two")) : wait(1)))).rejects.toThrow(
    "two",
  );
});
