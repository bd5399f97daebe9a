import { expect, test } from "vitest";
import { unusedExports } from "../unused-exports.js";
import { root } from "./lint-fixtures.js";

test("every export of a package is used by other code or named on a page", () => {
  expect(unusedExports(root)).toEqual([]);
});
