import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { deepestStack } from "../src/model-code-error.js";
import { remat, rematIn } from "./run.js";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "remat-model-code-")));
const { stackTraceLimit } = Error;
// As the command's process has it.
beforeAll(() => {
  Error.stackTraceLimit = deepestStack;
});
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit;
  rmSync(folder, { recursive: true });
});

function model(name: string, ...lines: readonly string[]): string {
  const path = join(folder, name);
  writeFileSync(path, `${lines.join("\n")}\n`);
  return path;
}

const end = "Mend the model there; REMAT_DEBUG=1 shows from where it was called.";

describe("an error that a model's code throws is told in one line with its place", () => {
  it("where the model is made", async () => {
    const path = model("made.mjs", "export default ({ tf }) => {", "  tf.sequential().foo.bar();", "};");
    expect(await remat("memory", path)).toEqual({
      code: 1,
      stdout: "",
      stderr: `remat: ${path}:2:22: Cannot read properties of undefined (reading 'bar'). ${end}\n`,
    });
  });

  it("where the step calls it, and what it does is refused", async () => {
    const path = model(
      "later.mjs",
      "export default ({ tf }) => {",
      "  const w = tf.variable(tf.ones([3, 3]));",
      "  const forward = (x) =>",
      "    tf.matMul(tf.relu(x), w);",
      "  return { forward, parameters: { w }, inputs: tf.ones([2, 4]) };",
      "};",
    );
    const { code, stderr } = await remat("estimate", path);
    expect(code).toBe(1);
    expect(stderr).toBe(
      `remat: ${path}:4:8: Kernel BatchMatMul cannot run: inner dimensions of [2,4] and [3,3] differ.\n`,
    );
  });

  it("where a file that it imports throws, by the line that called it", async () => {
    model("part.mjs", "export const part = () => { throw new Error('boom\\nin two lines'); };");
    const path = model("whole.mjs", 'import { part } from "./part.mjs";', "export default () => part();");
    expect((await remat("memory", path)).stderr).toBe(`remat: ${path}:2:22: boom in two lines. ${end}\n`);
  });

  it("where a folder is named, or a link", async () => {
    mkdirSync(join(folder, "in"));
    const path = model(join("in", "index.js"), "export default () => { throw new Error('boom!') };");
    symlinkSync(path, join(folder, "link.js"));
    expect((await remat("memory", join(folder, "in"))).stderr).toBe(`remat: ${path}:1:30: boom! ${end}\n`);
    // Node names what the link leads to; what loads modules here, the link.
    expect((await remat("memory", join(folder, "link.js"))).stderr).toMatch(/(in\/index|link)\.js:1:30: boom! Mend /);
  });

  it("where it is no error", async () => {
    const path = model("nothing.mjs", "export default () => { throw undefined };");
    expect((await remat("memory", path)).stderr).toBe(
      `remat: ${path}: the model's code threw undefined, which is no error. Throw an Error that says what is wrong.\n`,
    );
  });

  it("and where it was called from, if asked", async () => {
    const path = model(
      "debug.mjs",
      "const inner = () => { throw new Error('boom') };",
      "export default () => inner();",
    );
    const { stderr } = await rematIn({ env: { REMAT_DEBUG: "1" } }, "memory", path);
    expect(stderr.split("\n")[0]).toBe(`remat: ${path}:1:29: boom. ${end}`);
    expect(stderr).toMatch(/at inner .*debug\.mjs:1:29/);
    expect(stderr).toMatch(/debug\.mjs:2:22/);
  });
});
