import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runPython } from "../../src/native/run-python.js";
import { findInstalled } from "../../src/native/tensorflow-library.js";
import { libraryFiles } from "./fake-tools.js";

const before = process.cwd();
let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "remat-python-"));
  process.chdir(folder);
});
afterEach(() => {
  process.chdir(before);
  rmSync(folder, { recursive: true });
});

/** A package that leaves a mark when it is run or imported. */
function plant(name: string, files: Readonly<Record<string, string>> = {}): void {
  const source = `open(${JSON.stringify(join(folder, "ran"))}, "w")\n`;
  for (const [file, text] of Object.entries({ "__init__.py": source, "__main__.py": source, ...files })) {
    mkdirSync(join(folder, name, file, ".."), { recursive: true });
    writeFileSync(join(folder, name, file), text);
  }
}

test("a pip and a TensorFlow of the current folder's, or of PYTHONPATH's, are not Python's", async () => {
  plant("pip");
  plant("tensorflow", libraryFiles);
  for (const env of [process.env, { ...process.env, PYTHONPATH: folder }]) {
    await runPython(["-m", "pip", "--version"], env);
    expect((await findInstalled(false, env))?.folder).not.toBe(join(folder, "tensorflow"));
  }
  expect(existsSync(join(folder, "ran"))).toBe(false);
});
