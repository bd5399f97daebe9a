import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RematError } from "@remat/trace";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { deepestStack, namingModel } from "../src/model-code-error.js";
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

const end = "Fix the model there; REMAT_DEBUG=1 shows the call stack.";

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
    expect((await remat("memory", join(folder, "link.js"))).stderr).toMatch(/(in\/index|link)\.js:1:30: boom! Fix /);
  });

  it("by the file where that is no code, and TensorFlow.js refuses what it asks for", async () => {
    const layer = (name: string, className: string, config: object, inputs: readonly string[]) => ({
      class_name: className,
      name,
      config: { name, ...config },
      inbound_nodes: inputs.map((from) => [[from, 0, 0, {}]]),
    });
    const path = model(
      "cropped.json",
      JSON.stringify({
        class_name: "Functional",
        config: {
          name: "cropped",
          layers: [
            layer("x", "InputLayer", { batch_input_shape: [null, 6, 4] }, []),
            layer("crop", "Cropping1D", { cropping: [4, 4] }, ["x"]),
            layer("dense", "Dense", { units: 3 }, ["crop"]),
          ],
          input_layers: [["x", 0, 0]],
          output_layers: [["dense", 0, 0]],
        },
      }),
    );
    expect((await remat("estimate", path)).stderr).toBe(
      `remat: ${path}: Tensor must have a shape comprised of positive integers but got shape [1,-2,3]. Fix the model; REMAT_DEBUG=1 shows the call stack.\n`,
    );
    for (const code of ["KERNEL_ARGUMENTS", "KERNEL_MISSING", "DATA_DEPENDENT", "TENSOR_SIZE"] as const) {
      const refused = new RematError(code, "Kernel Reshape cannot run.");
      expect(namingModel(refused, [path])).toMatchObject({ code, message: `${path}: Kernel Reshape cannot run.` });
      expect(namingModel(refused, [path, folder])).toBe(refused);
    }
  });

  it("where it is no error", async () => {
    const path = model("nothing.mjs", "export default () => { throw undefined };");
    expect((await remat("memory", path)).stderr).toBe(
      `remat: ${path}: the model's code threw undefined, which is not an Error. Throw an Error with a message.\n`,
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
