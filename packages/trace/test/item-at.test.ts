import { expect, test } from "vitest";
import { itemAt } from "../src/index.js";

test("An item that exists is returned, whatever its value", () => {
  expect(itemAt(["", "b"], 0)).toBe("");
  expect(itemAt(Int32Array.of(7, 0), 1)).toBe(0);
});

test.each([-1, 2, 0.5, Number.NaN])("There is no item %f in a list of two", (index) => {
  expect(() => itemAt(["a", "b"], index)).toThrow(new RangeError(`a list of 2 has no item ${index}`));
});
