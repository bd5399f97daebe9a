import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { stock } from "../../../packages/checkpoint/test/users/ways.js";
import { checkProgram } from "../src/programs/check-program.js";
import { compile } from "../src/programs/compile.js";
import { firstDifference } from "../src/programs/first-difference.js";
import { ops } from "../src/programs/ops/index.js";
import { type Program, programs } from "../src/programs/program.js";
import { sourceOfProgram } from "../src/programs/source-of-program.js";
import type { Way } from "../src/programs/ways.js";

beforeAll(async () => {
  tf.env().set("PROD", true);
  await tf.setBackend("cpu");
});

const tanh = ops.find(({ text, from }) => text === "tf.tanh($x)" && from === "matrix")!;
const dense = ops.find(({ text }) => text.startsWith("tf.fused.matMul"))!;
const program: Program = {
  batches: [2, 3],
  optimizer: "tf.train.adam(0.05)",
  update: "minimize",
  statements: [
    { does: "op", op: dense, x: 0, y: 0 },
    { does: "block", kind: "matrix", x: 0, statements: [{ does: "op", op: tanh, x: 0, y: 0 }] },
    { does: "read", kind: "matrix", x: 0 },
    { does: "dispose", kind: "matrix", x: 1 },
  ],
};

test("a program is written as what is run", () => {
  expect(sourceOfProgram(program).split("\n")).toEqual([
    "async ({ tf, t, block }) => {",
    'const mw = tf.variable(tf.randomNormal([6], 0, 0.5, "float32", 103), true, "mw");',
    'const w0 = tf.variable(tf.randomNormal([6, 6], 0, 0.5, "float32", 101), true, "w0");',
    'const w1 = tf.variable(tf.randomNormal([6], 0, 0.5, "float32", 102), true, "w1");',
    "const optimizer = tf.train.adam(0.05);",
    "const kept = [];",
    "for (const [step, batch] of [2, 3].entries()) {",
    'const m = tf.randomNormal([batch, 6], 0, 1, "float32", 10 * step + 1);',
    "const loss = () => {",
    "const m0 = tf.mul(m, mw);",
    'const x0 = tf.fused.matMul({ a: m0, b: w0, bias: w1, activation: "relu" });',
    "const x2 = block((z0) => {",
    "const x1 = tf.tanh(z0);",
    "return x1;",
    "})(x0);",
    't.note("x2", x2);',
    "x0.dispose();",
    "return tf.mean(x2);",
    "};",
    "await t.step(() => tf.tidy(() => {",
    't.note("loss", optimizer.minimize(loss, true));',
    "}));",
    "tf.dispose([m, ...kept.splice(0)]);",
    "}",
    't.note("weights", ...Object.values(tf.engine().registeredVariables));',
    "optimizer.dispose();",
    "tf.disposeVariables();",
    "}",
  ]);
});

test("every program that is drawn can be read", () => {
  fc.assert(
    fc.property(programs, (drawn) => {
      compile(sourceOfProgram(drawn));
    }),
    { numRuns: 300 },
  );
});

test("a program goes all ways", async () => {
  expect(await checkProgram(sourceOfProgram(program))).toBeUndefined();
});

test("a way that computes another last bit is told, and so are one that leaves a tensor and one that fails", async () => {
  const source = sourceOfProgram(program);
  const changed =
    (from: string, to: string): Way =>
    async (source, expected) =>
      firstDifference(expected, await stock(compile(source.replace(from, to))));
  const wrong: Readonly<Record<string, Way>> = {
    right: changed("tf.tanh(z0)", "tf.tanh(z0)"),
    bit: changed("tf.tanh(z0)", "tf.mul(tf.tanh(z0), 1.0000001)"),
    leak: changed("const kept = [];", "const kept = []; tf.scalar(1);"),
    error: changed("tf.tanh(z0)", "tf.tanh()"),
    raises: async () => Promise.reject(new Error("broken")),
  };
  expect(await checkProgram(source, ["right"], wrong)).toBeUndefined();
  expect(await checkProgram(source, ["right", "bit"], wrong)).toMatch(/^bit: expected \["x2"/);
  expect(await checkProgram(source, ["leak"], wrong)).toMatch(/^leak: expected .* tensors of .* found/);
  expect(await checkProgram(source, ["error"], wrong)).toMatch(/^error: .*found \["error",/);
  expect(await checkProgram(source, ["raises"], wrong)).toMatch(/^raises: raised Error: broken/);
});

test("a program that differs from itself in stock proves nothing", async () => {
  const source = sourceOfProgram(program).replace(
    "tf.tanh(z0)",
    "tf.mul(tf.tanh(z0), globalThis.drawn = (globalThis.drawn ?? 0) + 1)",
  );
  expect(await checkProgram(source)).toBeUndefined();
});

test("fake mode is not told by the memory of the step that makes the layers, whichever that is", async () => {
  const source = `async ({ tf, t }) => {
    const layer = tf.layers.gru({ units: 6, resetAfter: false });
    for (const step of [0, 1, 2])
      await t.step(() => tf.tidy(() => {
        if (step === 0) throw new Error("broken off");
        t.note("y", layer.apply(tf.ones([2, 4, 6])));
      }));
    tf.disposeVariables();
  }`;
  expect(await checkProgram(source, ["in fake mode"])).toBeUndefined();
});
