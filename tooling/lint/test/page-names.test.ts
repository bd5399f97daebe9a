import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { missingNames } from "../page-names.js";
import { root } from "./lint-fixtures.js";

test("every name of our packages that a page uses exists", () => {
  const pages = execFileSync("git", ["ls-files", "*.md"], { cwd: root, encoding: "utf8" })
    .split("\n")
    .filter((file) => file !== "" && !/^etc\/|CHANGELOG/.test(file));
  const missing = Object.fromEntries(
    pages.map((file) => [file, missingNames(root, file)] as const).filter(([, names]) => names.length > 0),
  );
  expect(pages.length).toBeGreaterThan(30);
  expect(missing).toEqual({});
});
