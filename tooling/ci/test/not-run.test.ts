import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { notRun } from "../src/not-run.js";

/** In two parts, so that this file is not found itself. */
const call = ["nativeApp", "()"].join("");

test("names the files whose tests on the native backend were not run, and the command that makes them run", () => {
  const root = mkdtempSync(join(tmpdir(), "remat-not-run-"));
  try {
    const files = {
      "packages/a/test/native.test.ts": call,
      "packages/a/test/plain.test.ts": "",
      "apps/b/test/x.test.ts": call,
      "tooling/c/README.md": "",
      "examples/README.md": "",
    };
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    const told = notRun(root, {});
    expect(told).toContain("Skipped: the tests of 2 files on the native backend");
    expect(told).toContain("packages/a/test/native.test.ts, apps/b/test/x.test.ts");
    expect(told).toContain("pnpm remat setup native");
    expect(notRun(root, { NATIVE_APP: "/somewhere" })).toBeUndefined();
  } finally {
    rmSync(root, { recursive: true });
  }
});
