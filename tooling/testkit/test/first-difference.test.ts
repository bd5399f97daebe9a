import { expect, test } from "vitest";
import { firstDifference } from "../src/index.js";

test("is where lists differ first, by value, or one is longer", () => {
  expect(firstDifference([["a", 1], { b: [2] }], [["a", 1], { b: [2] }])).toBeUndefined();
  expect(firstDifference([1, [2], 3], [1, [4], 5])).toEqual({ index: 1, ours: [2], theirs: [4] });
  expect(firstDifference([1, 2], [1])).toEqual({ index: 1, ours: 2, theirs: undefined });
  expect(firstDifference([1], [1, undefined])).toEqual({ index: 1, ours: undefined, theirs: undefined });
});
