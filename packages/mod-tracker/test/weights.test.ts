import { describeTrace } from "@remat/testkit";
import { row, type Trace } from "@remat/trace";
import * as tf from "@tensorflow/tfjs";
import { beforeEach, expect, test } from "vitest";
import { optimizerSlots } from "../src/index.js";
import { traceOf } from "./events.js";

beforeEach(async () => {
  await tf.setBackend("cpu");
  tf.disposeVariables();
});

const shapes = (trace: Trace, tensors: ArrayLike<number>) =>
  Array.from(tensors, (tensor) => trace.tensorShape(tensor).join("x"));

const weightsByModule = (trace: Trace) =>
  Object.fromEntries(
    Array.from({ length: trace.weights.count }, (_, i) => [
      trace.modules[trace.weights.module[i]].fqn,
      [shapes(trace, row(trace.weights.parameters, i)), shapes(trace, row(trace.weights.buffers, i))],
    ]),
  );

function model(): tf.Sequential {
  const made = tf.sequential({
    name: "m",
    layers: [
      tf.layers.dense({ name: "a_dense", units: 3, inputShape: [2] }),
      tf.layers.batchNormalization({ name: "a_bn" }),
      tf.layers.dense({ name: "out", units: 1, useBias: false }),
    ],
  });
  made.compile({ optimizer: "adam", loss: "meanSquaredError" });
  return made;
}

const step = (made: tf.LayersModel) => () => made.trainOnBatch(tf.ones([4, 2]), tf.ones([4, 1]));

test("parameters and buffers of each module, those of the modules in it included", async () => {
  const made = model();
  // Frozen parameters are parameters.
  made.getLayer("out").trainable = false;
  made.compile({ optimizer: "sgd", loss: "meanSquaredError" });
  const trace = await traceOf(made, step(made));
  const bn = [
    ["3", "3"],
    ["3", "3"],
  ];
  expect(weightsByModule(trace)).toEqual({
    m: [
      ["2x3", "3", "3", "3", "3x1"],
      ["3", "3"],
    ],
    "m.a": [
      ["2x3", "3", "3", "3"],
      ["3", "3"],
    ],
    "m.a.a_dense": [["2x3", "3"], []],
    "m.a.a_bn": bn,
    "m.out": [["3x1"], []],
  });
});

test("weights, statistics and slots are there from the beginning of each step, under their category", async () => {
  const made = model();
  const first = (trace: Trace) => {
    const lines = describeTrace(trace);
    return lines.slice(
      0,
      lines.indexOf(
        "> m forward (s99)".replace(
          "s99",
          /\(s\d+\)/.exec(lines.find((l) => l.startsWith("> m forward")) ?? "")?.[0].slice(1, -1) ?? "",
        ),
      ),
    );
  };
  const categories = (lines: string[]) =>
    lines.filter((line) => line.startsWith("+")).map((line) => line.split(" ").slice(1).join(" "));
  const weights = [
    "24 B parameter",
    "12 B parameter",
    "12 B parameter",
    "12 B parameter",
    "12 B parameter",
    "12 B buffer",
    "12 B buffer",
  ];
  const isWeight = (line: string) => /parameter|buffer|optimizerState/.test(line);
  const beforeFirst = categories(first(await traceOf(made, step(made)))).filter(isWeight);
  // Adam keeps two powers, and no moments yet.
  expect(beforeFirst).toEqual(["4 B optimizerState", "4 B optimizerState", ...weights]);
  const beforeSecond = categories(first(await traceOf(made, step(made)))).filter(isWeight);
  expect(beforeSecond.filter((line) => line.endsWith("optimizerState"))).toHaveLength(2 + 2 * 5);
  expect(beforeSecond.filter((line) => !line.endsWith("optimizerState"))).toEqual(weights);
});

test.each([
  ["sgd", 0],
  ["momentum", 1],
  ["adagrad", 1],
  ["rmsprop", 2],
  ["adadelta", 2],
  ["adam", 2],
  ["adamax", 2],
] as const)("the slots of %s", (name, perWeight) => {
  const w = tf.variable(tf.ones([3]));
  const optimizer = name === "momentum" ? tf.train.momentum(0.1, 0.9) : tf.train[name](0.1);
  const scalars = optimizerSlots(optimizer).length;
  optimizer.minimize(() => tf.square(w).sum().asScalar());
  const slots = optimizerSlots(optimizer);
  expect(slots.filter(({ size }) => size === 3)).toHaveLength(perWeight);
  expect(slots).toHaveLength(perWeight + scalars);
});
