import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "./lint-fixtures.js";

test("a name that reads as a question returns the answer", () => {
  const sources = execFileSync("git", ["ls-files", "packages/*/src/*.ts", "apps/*/src/*.ts", "tooling/*.ts"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 1 << 26,
  })
    .trim()
    .split("\n");
  expect(sources.length).toBeGreaterThan(1000);
  const question = /\b((?:is|has|are|can|should)[A-Z]\w*)(?:<[^>]*>)?\([^()]*\): void\b/g;
  const found = sources.flatMap((path) =>
    Array.from(readFileSync(join(root, path), "utf8").matchAll(question), ([, name]) => `${path}: ${name}`),
  );
  expect(found).toEqual([]);
});
