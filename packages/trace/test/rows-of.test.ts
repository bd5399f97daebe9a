import { expect, test } from "vitest";
import { row, rowsOf } from "../src/index.js";

test("each row is its list", () => {
  const lists = [[7, 8], [], [9], []];
  const rows = rowsOf(lists);
  expect(rows).toEqual({ start: Int32Array.of(0, 2, 2, 3, 3), values: Int32Array.of(7, 8, 9) });
  expect(lists.map((_, i) => [...row(rows, i)])).toEqual(lists);
  expect(rowsOf([])).toEqual({ start: Int32Array.of(0), values: Int32Array.of() });
});
