import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { nativeTests } from "../src/native-tests.js";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "remat-ci-"));
});
afterEach(() => rmSync(root, { recursive: true }));

it("finds the tests that ask for nativeApp(), and none of what is installed", () => {
  const taken = ["nativeApp", "()"].join("");
  const files = {
    "packages/a/test/one.test.ts": `const app = ${taken};`,
    "packages/a/test/other.test.ts": "const app = 1;",
    "packages/a/node_modules/b/c.test.ts": taken,
    "packages/a/src/app.ts": taken,
    "examples/test/two.test.ts": taken,
    "apps/x": "",
    "tooling/x": "",
  };
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  expect(nativeTests(root)).toEqual(["packages/a/test/one.test.ts", "examples/test/two.test.ts"]);
  expect(nativeTests(root, ["packages"])).toEqual(["packages/a/test/one.test.ts"]);
});
