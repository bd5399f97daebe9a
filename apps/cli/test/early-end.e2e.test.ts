import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { remat } from "./run.js";

const folder = mkdtempSync(join(tmpdir(), "remat-end-"));
const module = join(folder, "early-end.mjs");
beforeAll(async () => {
  await build({
    entryPoints: [fileURLToPath(new URL("../src/early-end.ts", import.meta.url))],
    bundle: true,
    format: "esm",
    platform: "node",
    outfile: module,
  });
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs a command's `work` as the command line does. */
function run(work: string, redirect = "") {
  const code = `import { reportEarlyEnd, reportFullOutput } from ${JSON.stringify(module)};
    const over = reportEarlyEnd(); reportFullOutput(process.stdout, () => { over(); process.exit(1); }); ${work}; over();`;
  const script = join(folder, "command.mjs");
  writeFileSync(script, code);
  const { status, stdout, stderr } = spawnSync("sh", ["-c", `'${process.execPath}' '${script}' ${redirect}`], {
    encoding: "utf8",
  });
  return { status, stdout, lines: stderr.split("\n").filter((line) => line !== "" && !line.startsWith("Warning")) };
}

describe("a process that ends before its command is over", () => {
  it("says so where the model never resolves", () => {
    const { status, lines } = run("await new Promise(() => {})");
    expect(status).toBe(1);
    expect(lines[0]).toMatch(/^remat: the model waits for a promise that never settles\. /);
  });

  it("fails where the model calls process.exit", () => {
    for (const [given, code] of [
      [0, 1],
      [5, 5],
    ]) {
      const { status, lines } = run(`process.exit(${given})`);
      expect(status).toBe(code);
      expect(lines).toEqual([
        expect.stringMatching(new RegExp(`ended the process \\(exit code ${given}\\).* Remove `)),
      ]);
    }
  });

  it("says so where nothing more can be printed, in one line", () => {
    const { status, lines } = run(
      "process.stdout.write('x'.repeat(10)); await new Promise((r) => setTimeout(r, 200))",
      "> /dev/full",
    );
    expect(status).toBe(1);
    expect(lines).toEqual([
      expect.stringMatching(/^remat: standard output cannot be written \(.*ENOSPC.* Free some disk space/),
    ]);
  });

  it("is silent otherwise", () => {
    expect(run("console.log('done')")).toEqual({ status: 0, stdout: "done\n", lines: [] });
  });
});

it.each(["null", "undefined", "'text'", "Object.create(null)"])(
  "a model that throws %s is told in one line",
  async (thrown) => {
    const model = join(folder, `throws-${thrown.length}.mjs`);
    writeFileSync(model, `export default () => { throw ${thrown}; };\n`);
    const { code, stderr } = await remat("estimate", model);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^remat: [^\n]*which is not an Error\. Throw an Error with a message\.[^\n]*\n$/);
  },
);
