import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { drawFrom, mutantsOf } from "../mutate/mutants.js";
import { testsByDistance } from "../mutate/reaching-tests.js";

/** Each change as the line that it makes of a source. */
function changes(source: string): string[] {
  return mutantsOf(source, "a.ts").map(
    ({ start, end, text }) =>
      (source.slice(0, start) + text + source.slice(end))
        .split("\n")
        .find((line, i) => line !== source.split("\n")[i])!,
  );
}

describe("the changes to a source", () => {
  it.each([
    [
      "conditions and boundaries",
      "if (a < b) c = 1;",
      ["if (!(a < b)) c = 1;", "if (a <= b) c = 1;", "if (a < b) c = (1 + 1);"],
    ],
    ["equality once", "const x = a === b ? c : d;", ["const x = a !== b ? c : d;"]],
    ["logic and flags", "const x = a && true;", ["const x = a || true;", "const x = a && false;"]],
    ["sums, but not of texts", 'const x = a - b + "c";', ['const x = a + b + "c";']],
    ["calls that stand alone", "f(x);", [";"]],
    ["calls that are waited for, or that may not be there", "await a?.b();", [";"]],
    ["the larger and the smaller", "const x = Math.max(a, b);", ["const x = Math.min(a, b);"]],
    [
      "nothing of types, imports and texts",
      'import { a } from "b"; type T = 1 | true; let x: 3; const y = "z" as T;',
      [],
    ],
  ])("are of %s", (_, source, expected) => {
    expect(changes(source).sort()).toEqual([...expected].sort());
  });

  it("say what they leave out, and on which line", () => {
    const source = "function f() {\n  signal.removeEventListener(stop);\n  worker.dispose();\n  log(1);\n}";
    expect(mutantsOf(source, "a.ts").map(({ kind, line }) => [kind, line])).toEqual([
      ["cleanup", 2],
      ["cleanup", 3],
      ["call", 4],
      ["constant", 4],
    ]);
  });
});

it("a sample is the same for the same seed, has no change twice, and is in the order of the source", () => {
  const items = Array.from({ length: 100 }, (_, i) => i);
  const drawn = drawFrom(items, 20, 7);
  expect(drawFrom(items, 20, 7)).toEqual(drawn);
  expect(drawFrom(items, 20, 8)).not.toEqual(drawn);
  expect(new Set(drawn).size).toBe(20);
  expect([...drawn].sort((a, b) => a - b)).toEqual(drawn);
  expect(drawFrom(items, 500, 7)).toEqual(items);
  const often = Array.from({ length: 400 }, (_, seed) => drawFrom(items, 10, seed)).flat();
  expect(Math.min(...items.map((item) => often.filter((each) => each === item).length))).toBeGreaterThan(10);
});

describe("the tests of a source", () => {
  const folder = mkdtempSync(join(tmpdir(), "remat-mutate-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const files = {
    "package.json": JSON.stringify({ name: "@remat/made-up", exports: { ".": { "@remat/source": "./src/index.ts" } } }),
    "src/index.ts": 'export { a } from "./a.js"; export type { B } from "./b.js";',
    "src/a.ts": 'import { c } from "./c.js"; export const a = c;',
    "src/b.ts": "export interface B {}",
    "src/c.ts": "export const c = 1;",
    "test/near.test.ts": 'import { c } from "../src/c.js";',
    "test/far.test.ts": 'import { a } from "@remat/made-up";',
    "test/helped.test.ts": 'import { help } from "./help.js";',
    "test/help.ts": 'export const help = () => import("../src/a.js");',
    "test/slow.e2e.test.ts": 'import { c } from "../src/c.js";',
    "test/other.test.ts": 'import type { B } from "../src/b.js";',
  };
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  const testsOf = (source: string) =>
    testsByDistance(folder)(join(folder, source)).map((file) => file.slice(folder.length + 1));

  it("are the unit tests that its imports lead to, the nearest first, and none by a type", () => {
    expect(testsOf("src/c.ts")[0]).toBe("test/near.test.ts");
    expect(testsOf("src/c.ts").toSorted()).toEqual(["test/far.test.ts", "test/helped.test.ts", "test/near.test.ts"]);
    expect(testsOf("src/a.ts").toSorted()).toEqual(["test/far.test.ts", "test/helped.test.ts"]);
    expect(testsOf("src/b.ts")).toEqual([]);
  });

  it("begin with the one that is named after the source, however it gets there", () => {
    writeFileSync(join(folder, "test/c.test.ts"), 'import { a } from "@remat/made-up";');
    expect(testsOf("src/c.ts").slice(0, 2)).toEqual(["test/c.test.ts", "test/near.test.ts"]);
  });
});
