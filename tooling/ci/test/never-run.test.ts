import { expect, test } from "vitest";
import { neverRun } from "../src/never-run.js";

const report = (files: Readonly<Record<string, Readonly<Record<string, string>>>>): string =>
  JSON.stringify({
    testResults: Object.entries(files).map(([file, tests]) => ({
      name: `/root/${file}`,
      status: "passed",
      assertionResults: Object.entries(tests).map(([fullName, status]) => ({ fullName, status })),
    })),
  });

test("a test that one stage runs has run, whatever other stages skip", () => {
  const reports = [
    report({ "packages/a/test/a.test.ts": { adds: "passed", "on tensorflow": "pending" } }),
    report({ "packages/a/test/a.test.ts": { adds: "skipped", "on tensorflow": "failed" } }),
  ];
  expect(neverRun("/root", ["packages/a/test/a.test.ts"], reports)).toEqual([]);
});

test("tests that every stage skips, and files that no stage collects, are named", () => {
  const reports = [
    report({ "packages/a/test/a.test.ts": { adds: "passed", "on tensorflow": "pending" } }),
    report({ "packages/a/test/a.test.ts": { "on tensorflow": "skipped" } }),
  ];
  expect(neverRun("/root", ["packages/a/test/a.test.ts", "apps/b/test/b.test.ts"], reports)).toEqual([
    "packages/a/test/a.test.ts > on tensorflow",
    "apps/b/test/b.test.ts",
  ]);
});
