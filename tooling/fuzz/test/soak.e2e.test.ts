import { expect, test } from "vitest";
import { describeGrowth, type MemoryReading } from "../src/soak/describe-growth.js";

const steady: MemoryReading = { heapBytes: 50e6, residentBytes: 300e6, tensors: 7, listeners: 3 };

const readings = (grow: (round: number) => Partial<MemoryReading>): MemoryReading[] =>
  Array.from({ length: 30 }, (_, round) => ({ ...steady, ...grow(round) }));

test("memory that stays, or comes and goes, does not grow", () => {
  expect(describeGrowth(readings(() => ({})))).toBeUndefined();
  expect(describeGrowth(readings((round) => ({ heapBytes: 50e6 + (round % 5) * 20e6 })))).toBeUndefined();
  expect(describeGrowth([steady])).toBeUndefined();
});

test("memory that each round leaves is reported", () => {
  expect(describeGrowth(readings((round) => ({ heapBytes: 50e6 + round * 1e6 })))).toBe(
    "in 30 rounds the process grows by 20000000 bytes of heap",
  );
  expect(describeGrowth(readings((round) => ({ tensors: round, listeners: round })))).toBe(
    "in 30 rounds the process grows by 20 tensors, 20 listeners",
  );
  expect(describeGrowth(readings((round) => ({ residentBytes: 300e6 + round * 20e6 })))).toMatch(
    /400000000 resident bytes/,
  );
});
