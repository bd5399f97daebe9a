import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { sampledCases } from "@remat/testkit";
import "@tensorflow/tfjs-backend-cpu";
import * as tf from "@tensorflow/tfjs-core";
import { afterAll, describe, expect, it } from "vitest";
import { remat } from "./run.js";

const example = (path: string): string => fileURLToPath(new URL(`../../../examples/${path}`, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "remat-cli-"));
afterAll(() => rmSync(folder, { recursive: true }));

interface Summary {
  readonly verdict: { readonly peakBytes: number; readonly command: string; readonly sentence: string };
  readonly header: { readonly model: string; readonly notes: string[] };
  readonly opCount: number;
  readonly forwardMs: number;
  readonly backwardMs: number;
  readonly modules: readonly {
    readonly fqn: string;
    readonly memoryBytes: number;
    readonly savedBytes: number;
    readonly recomputeShare: number[];
  }[];
}

async function estimateJson(...args: string[]): Promise<Summary> {
  const { code, stdout, stderr } = await remat("estimate", ...args, "--format", "json");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout) as Summary;
}

describe("remat estimate MODEL", () => {
  it("prints statistics and trade-off of a Keras model by module, and which loss it took", async () => {
    const { code, stdout } = await remat("estimate", example("keras/resnet50.model.json"), "--batch", "8", "--fit");
    expect(code).toBe(0);
    expect(stdout).toContain(
      "note: no loss in the model: using categorical cross-entropy, because the output is a softmax",
    );
    expect(stdout).toMatch(/resnet50\.conv2 +[\d.]+ [MG]iB +Group/);
    expect(stdout).toContain("Fitted trade-off");
  });

  it.each(sampledCases(["mobilenet_v1", "mobilenet_v2", "efficientnet_b0", "resnet50"], 2))(
    "gives %s a hierarchy, in which parts take what the whole takes",
    async (name) => {
      const { modules, forwardMs, backwardMs } = await estimateJson(
        example(`keras/${name}.model.json`),
        "--batch",
        "2",
      );
      expect(forwardMs).toBeGreaterThan(0);
      expect(backwardMs).toBeGreaterThan(forwardMs);
      const [root, ...parts] = modules;
      expect(parts.length).toBeGreaterThan(2);
      const inParts = parts.reduce((bytes, part) => bytes + part.memoryBytes, 0);
      // Layers outside of every group, and each group's own result, are what is missing.
      expect(inParts).toBeLessThanOrEqual(root.memoryBytes);
      expect(inParts).toBeGreaterThan(0.4 * root.memoryBytes);
    },
  );

  it("scales with the batch", async () => {
    const rootOf = async (batch: string) =>
      (await estimateJson(example("keras/mobilenet_v1.model.json"), "--batch", batch)).modules[0];
    const [one, four] = [await rootOf("1"), await rootOf("4")];
    expect(four.memoryBytes / one.memoryBytes).toBeGreaterThan(3.5);
    expect(four.memoryBytes / one.memoryBytes).toBeLessThan(4.01);
  });

  it("estimates a module of plain functions by its scopes, in both modes", async () => {
    const transformer = example("transformer/model.js");
    const { modules } = await estimateJson(transformer, "--depth", "3", "--size", "tiny");
    expect(modules.map(({ fqn }) => fqn)).toEqual(["Transformer", "Transformer.layers.0", "Transformer.layers.1"]);
    const measured = await remat(
      "estimate",
      transformer,
      "--size",
      "tiny",
      "--mode",
      "operator-level-benchmark",
      "--backend",
      "cpu",
      "--depth",
      "3",
    );
    expect(measured.code).toBe(0);
    expect(measured.stdout).toContain("measured");
  });

  it("leaves nothing behind", async () => {
    const before = { ...tf.memory() };
    await remat("estimate", example("u-net/model.js"), "--size", "tiny");
    expect(tf.memory()).toEqual(before);
  });

  it("draws each module's trade-off", async () => {
    const graphs = join(folder, "graphs");
    await remat("estimate", example("foo/model.js"), "--depth", "9", "--graphs", graphs);
    expect(readdirSync(graphs)).toEqual(["Foo.png", "Foo.svg"]);
    expect(readFileSync(join(graphs, "Foo.png")).subarray(1, 4).toString()).toBe("PNG");
  });

  it("writes a trace from which the same statistics follow", async () => {
    const file = join(folder, "lstm.remat.jsonl.gz");
    const made = await estimateJson(example("lstm/model.js"), "--size", "tiny", "--trace", file);
    expect(existsSync(file)).toBe(true);
    const read = await estimateJson(file);
    // A model can be run, a trace of it cannot: early release and what to type next differ, and nothing else.
    expect({ ...read, verdict: undefined }).toEqual({ ...made, verdict: undefined });
    const judged = ({ verdict }: Summary) => ({
      ...verdict,
      earlyReleasePeakBytes: undefined,
      command: undefined,
      sentence: undefined,
    });
    expect(judged(read)).toEqual(judged(made));
    expect([made.verdict.command, read.verdict.command]).toEqual([
      `remat run ${example("lstm/model.js")} --size tiny --budget 95.69KiB`,
      `remat plan ${file} --max-overhead 0% -o plan.json`,
    ]);
  });
});

const write = (name: string, text: string): string => {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
};

it("takes a module, or the folder that it is in", async () => {
  const path = write(
    "dense-model/model.js",
    "export default ({ tf }) => tf.sequential({ layers: [tf.layers.dense({ units: 3, inputShape: [4] })] });",
  );
  expect((await estimateJson(path)).opCount).toBeGreaterThan(0);
  expect((await estimateJson(dirname(path))).opCount).toBeGreaterThan(0);
});

it("calls a loss that does not exist a wrong command line", async () => {
  const run = await remat("estimate", example("foo/model.js"), "--loss", "hinge");
  expect(run).toMatchObject({ code: 2, stdout: "" });
  expect(run.stderr).toMatch(/^remat: unknown loss "hinge"\. Choose one of .*\. See remat estimate --help\.\n$/);
});

describe("a model that cannot be estimated", () => {
  it.each([
    ["empty.mjs", "", "has no default export"],
    ["syntax.mjs", "export default (", "cannot be imported"],
    ["number.mjs", "export default 7;", "expected its default export to be a function"],
    ["nothing.mjs", "export default () => ({});", "expected a field 'model' or 'forward', found neither"],
    [
      "inputs.mjs",
      "export default () => ({ forward: (x) => x, inputs: [1, 2] });",
      "field 'inputs', item 0: expected a tensor, found 1",
    ],
    [
      "reads.mjs",
      "export default ({ tf }) => { const w = tf.variable(tf.ones([2])); return { forward: (x) => tf.mul(x, w).dataSync(), parameters: { w }, inputs: tf.ones([2]) }; };",
      "Multiply",
    ],
    [
      "throws.mjs",
      "export default () => { throw new Error('boom'); };",
      "throws.mjs:1:30: boom. Fix the model there; REMAT_DEBUG=1 shows the call stack.",
    ],
    [
      "frozen.mjs",
      "export default ({ tf }) => ({ forward: (x) => tf.relu(x), parameters: {}, inputs: tf.ones([2]) });",
      "the model has no trainable weight",
    ],
    [
      "deep.mjs",
      `export default ({ tf }) => {
        const x = tf.input({ shape: [2] });
        const relu = (y) => tf.layers.activation({ activation: "relu" }).apply(y);
        return tf.model({ inputs: x, outputs: Array.from({ length: 10_000 }).reduce(relu, tf.layers.dense({ units: 2 }).apply(x)) });
      };`,
      "too deep (Maximum call stack size exceeded): tfjs-layers recurses once per layer in a row, or the model's own code recurses without end. Split a long model into models of at most 1,000 layers each. Set",
    ],
    ["broken.json", "{", "not JSON"],
    ["odd.model.json", '{"modelTopology": {}}', "odd.model.json"],
  ])("%s is refused with one line", async (name, text, message) => {
    const { code, stdout, stderr } = await remat("estimate", write(name, text));
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(message);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  });
});
