import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { root } from "./lint-fixtures.js";

const checked = "export const first = (items: readonly string[]): string => items[0] ?? '';\n";
const unchecked = "export const first = (items: readonly string[]): string => items[0];\n";

/** Type checks a package `records` whose sources import the package `columns`, with these texts. */
function checkTypes({ source, dependency, test = "" }: Record<"source" | "dependency", string> & { test?: string }) {
  const folder = mkdtempSync(join(tmpdir(), "remat-types-"));
  const files = {
    "columns/index.ts": dependency,
    "records/src/index.ts": `export { first as other } from "../../columns/index.js";\n${source}`,
    "records/test/index.ts": test,
    "records/package.json": JSON.stringify({ type: "module" }),
    "records/tsconfig.json": JSON.stringify({
      compilerOptions: { noEmit: true, strict: true, module: "NodeNext", types: [], noUncheckedIndexedAccess: true },
      include: ["src"],
    }),
    "records/test/tsconfig.json": JSON.stringify({
      extends: "../tsconfig.json",
      compilerOptions: { noUncheckedIndexedAccess: false },
      include: ["."],
    }),
  };
  try {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    const { status, stdout } = spawnSync(process.execPath, [join(root, "tooling/lint/check-types.js")], {
      cwd: join(folder, "records"),
      env: { ...process.env, PATH: `${join(root, "node_modules/.bin")}:${process.env["PATH"]}` },
      encoding: "utf8",
    });
    return { status, stdout };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test("An unchecked indexed access is an error in the sources of the package", () => {
  const { status, stdout } = checkTypes({ source: unchecked, dependency: checked });
  expect(stdout).toMatch(/^src\/index\.ts\(2,60\): error TS2322/);
  expect(status).toBe(1);
});

test("An unchecked indexed access is no error in a dependency or a test", () => {
  expect(checkTypes({ source: checked, dependency: unchecked, test: unchecked })).toEqual({ status: 0, stdout: "" });
});

test("Other type errors of tests are errors", () => {
  const { status, stdout } = checkTypes({
    source: checked,
    dependency: checked,
    test: "export const one: string = 1;",
  });
  expect(stdout).toMatch(/^test\/index\.ts\(1,14\): error TS2322/);
  expect(status).toBe(1);
});
