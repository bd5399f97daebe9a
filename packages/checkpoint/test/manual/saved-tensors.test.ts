import * as tf from "@tensorflow/tfjs";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { printSavedTensors, savedTensors } from "../../src/index.js";

beforeAll(async () => {
  await tf.setBackend("cpu");
});
beforeEach(() => tf.disposeVariables());

const x = () => tf.ones([4, 8]);

test("each buffer is listed once, with what it is and whose gradient needs it", () => {
  const w = tf.variable(tf.ones([8, 8]), true, "w");
  const before = tf.memory();
  const input = x();
  const held = savedTensors(() => {
    const h = tf.relu(tf.matMul(input, w as tf.Tensor2D));
    return tf.sum(tf.mul(tf.sigmoid(h), h));
  });
  const plain = { dtype: "float32", module: undefined };
  const of = (...ops: string[]) => ops.map((op) => ({ op, module: undefined }));
  expect(held).toEqual([
    { ...plain, shape: [4, 8], bytes: 128, origin: "data", madeBy: undefined, savedFor: of("BatchMatMul") },
    { ...plain, shape: [8, 8], bytes: 256, origin: "weight", madeBy: "w", savedFor: of("BatchMatMul") },
    { ...plain, shape: [4, 8], bytes: 128, origin: "op", madeBy: "BatchMatMul", savedFor: of("Relu") },
    { ...plain, shape: [4, 8], bytes: 128, origin: "op", madeBy: "Sigmoid", savedFor: of("Sigmoid", "Multiply") },
    { ...plain, shape: [4, 8], bytes: 128, origin: "op", madeBy: "Relu", savedFor: of("Multiply") },
    { ...plain, shape: [4, 8], bytes: 128, origin: "op", madeBy: "Multiply", savedFor: of("Sum") },
  ]);
  input.dispose();
  expect(tf.memory().numTensors).toBe(before.numTensors);
});

test("tensors that no gradient needs are left out", () => {
  const w = tf.variable(tf.scalar(2), true, "w");
  const held = savedTensors(() => {
    const beside = tf.exp(tf.sin(tf.ones([64])));
    return tf.mul(tf.sum(beside), tf.square(w)) as tf.Scalar;
  });
  expect(held.map(({ bytes }) => bytes)).toEqual([4, 4, 4]);
});

test("layers name the modules, and the table tells them", () => {
  const model = tf.sequential({
    name: "mlp",
    layers: [
      tf.layers.dense({ name: "hidden", units: 16, activation: "sigmoid", inputShape: [8] }),
      tf.layers.dense({ name: "out", units: 1 }),
    ],
  });
  const lines: string[] = [];
  printSavedTensors(() => tf.sum(model.apply(x(), { training: true }) as tf.Tensor), {
    model,
    print: (text) => lines.push(text),
  });
  expect(lines.join("\n")).toMatchInlineSnapshot(`
    "528 bytes in 3 buffers are held for the backward pass, besides weights and data
    ==================  =======  ==========================  =================================================================
    Tensor                Bytes  Origin                      Saved for
    ==================  =======  ==========================  =================================================================
    float32 [8, 16]         512  weight hidden/kernel        Reshape in mlp.hidden, fusedMatMul in mlp.hidden
    float32 [1, 4, 8]       128  data                        fusedMatMul in mlp.hidden
    float32 [1, 4, 16]      256  _FusedMatMul in mlp.hidden  fusedMatMul in mlp.hidden, Add in mlp.hidden
    float32 [16]             64  weight hidden/bias          Add in mlp.hidden
    float32 [4, 16]         256  Sigmoid in mlp.hidden       Sigmoid in mlp.hidden, Reshape in mlp.out, fusedMatMul in mlp.out
    float32 [16, 1]          64  weight out/kernel           Reshape in mlp.out, fusedMatMul in mlp.out
    float32 [1, 4, 1]        16  _FusedMatMul in mlp.out     fusedMatMul in mlp.out, Sum
    float32 [1]               4  weight out/bias             fusedMatMul in mlp.out
    ==================  =======  ==========================  ================================================================="
  `);
  model.dispose();
});

test("a function that no trainable variable leads to is refused, and its tape goes", () => {
  const before = tf.memory().numTensors;
  expect(() => savedTensors(() => tf.tidy(() => tf.sum(tf.sin(tf.ones([4])))))).toThrow(
    /does not depend on a trainable variable/,
  );
  const input = tf.ones([4]);
  const held = savedTensors(() => tf.sum(tf.sin(input)), { xs: [input] });
  expect(held.map(({ origin, bytes }) => `${origin} ${bytes}`)).toEqual(["data 16", "op 16"]);
  input.dispose();
  expect(tf.memory().numTensors).toBe(before);
});

test("an error in the function leaves nothing behind", () => {
  const w = tf.variable(tf.ones([4]), true, "w");
  const before = tf.memory().numTensors;
  expect(() =>
    savedTensors(() => {
      tf.sin(w);
      throw new Error("mine");
    }),
  ).toThrow("mine");
  expect(tf.memory().numTensors).toBe(before);
});
