import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { addTries, tellPrograms, triesOf } from "../src/count-tries.js";

const page = `Before.

<!-- fuzz: tried -->

| tried | on | times |
|---|---|---|
| programs | cpu | 1,200 |
| plans | cpu | 7 |

<!-- /fuzz: tried -->

After.
`;

test("tries are added to those of the same kind on the same backend", () => {
  const added = addTries(page, [
    { title: "programs", where: "cpu", count: 34 },
    { title: "programs", where: "native", count: 1_000_000 },
  ]);
  expect(triesOf(added)).toEqual([
    { title: "programs", where: "cpu", count: 1234 },
    { title: "plans", where: "cpu", count: 7 },
    { title: "programs", where: "native", count: 1_000_000 },
  ]);
  expect(added).toMatch(/^Before\.\n[\s\S]*\nAfter\.\n$/);
  expect(addTries(added, [])).toBe(added);
});

test("the programs of all backends are told, and nothing else is changed", () => {
  const told = tellPrograms("a <!-- fuzz: programs -->1<!-- /fuzz: programs --> b", [
    { title: "programs", where: "cpu", count: 1200 },
    { title: "programs", where: "wasm", count: 34 },
    { title: "plans", where: "cpu", count: 7 },
  ]);
  expect(told).toBe("a <!-- fuzz: programs -->1,234<!-- /fuzz: programs --> b");
});

test("a page without the table is refused", () => {
  expect(() => triesOf("nothing")).toThrow("fuzz: tried");
});

test("the README tells as many programs as the fuzzer's page", () => {
  const [readme, fuzzer] = ["../../../README.md", "../README.md"].map((path) =>
    readFileSync(new URL(path, import.meta.url), "utf8"),
  );
  expect(readme).toContain("<!-- fuzz: programs -->");
  expect(tellPrograms(readme, triesOf(fuzzer))).toBe(readme);
});
