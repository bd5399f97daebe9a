import { row } from "@remat/trace";
import * as tf from "@tensorflow/tfjs";
import { beforeEach, describe, expect, test } from "vitest";
import type { Layer } from "../src/index.js";
import { moduleEvents, traceOf } from "./events.js";

beforeEach(async () => {
  await tf.setBackend("cpu");
  tf.disposeVariables();
});

const perceptron = (name: string): tf.Sequential =>
  tf.sequential({
    name,
    layers: [
      tf.layers.dense({ name: "in_proj", units: 4, inputShape: [2] }),
      tf.layers.dense({ name: "out_proj", units: 2 }),
    ],
  });

/** A call of `fqn` around those of its parts, as events. */
const around = (fqn: string, parts: string[]): string[] => [`> ${fqn}`, ...parts, `< ${fqn}`];

const blockEvents = (fqn: string): string[] =>
  around(fqn, [...around(`${fqn}.in_proj`, []), ...around(`${fqn}.out_proj`, [])]);

const passOf = (events: string[], phase: string): string[] =>
  events.filter((line) => line.endsWith(` ${phase}`)).map((line) => line.slice(0, -phase.length - 1));

const reversed = (events: string[]): string[] =>
  events.map((line) => `${line.startsWith(">") ? "<" : ">"}${line.slice(1)}`).reverse();

const batch = (): tf.Tensor => tf.ones([3, 2]);

describe("Sequentials in a Sequential: tfjs-layers calls the layers of the first directly, not it", () => {
  const blocks = ["block0", "block1", "block2", "block3"];
  const expected = around(
    "Net",
    blocks.flatMap((name) => blockEvents(`Net.${name}`)),
  );
  const net = (): tf.Sequential => tf.sequential({ name: "Net", layers: blocks.map(perceptron) });
  const compiled = (): tf.Sequential => {
    const model = net();
    model.compile({ optimizer: "sgd", loss: "meanSquaredError" });
    return model;
  };

  test("every block is a module, and no group is invented", async () => {
    const model = net();
    const trace = await traceOf(model, (tracker) => {
      const inside = blocks.flatMap((name) => [name, `${name}.in_proj`, `${name}.out_proj`]);
      expect(tracker.modules.map(({ fqn }) => fqn).sort()).toEqual(["Net", ...inside.map((name) => `Net.${name}`)]);
      return model.predict(batch());
    });
    expect(trace.modules.filter(({ kind }) => kind === "Group")).toEqual([]);
  });

  test.each<[string, (model: tf.Sequential) => unknown]>([
    ["predict", (model) => model.predict(batch())],
    ["apply", (model) => model.apply(batch())],
    ["trainOnBatch", (model) => model.trainOnBatch(batch(), batch())],
    ["evaluate", (model) => model.evaluate(batch(), batch())],
  ])("%s enters each block once, around its layers", async (_, run) => {
    const model = compiled();
    expect(passOf(moduleEvents(await traceOf(model, () => run(model))), "forward")).toEqual(expected);
  });

  test("batch after batch", async () => {
    const model = compiled();
    const events = moduleEvents(await traceOf(model, () => model.predict(tf.ones([2, 2]), { batchSize: 1 })));
    const again = expected.map((line) => `${line}#1`);
    expect(passOf(events, "forward")).toEqual([...expected, ...again]);
  });

  test("backward it is the forward pass the other way round", async () => {
    const model = compiled();
    const events = moduleEvents(await traceOf(model, () => model.trainOnBatch(batch(), batch())));
    expect(passOf(events, "backward")).toEqual(reversed(expected));
  });

  test("each block owns the weights of its layers", async () => {
    const model = net();
    const { weights, modules } = await traceOf(model, () => model.predict(batch()));
    const owned = Object.fromEntries(
      Array.from({ length: weights.count }, (_, i) => [
        modules[weights.module[i]].fqn,
        Array.from(row(weights.parameters, i)),
      ]),
    );
    for (const name of blocks) {
      expect(owned[`Net.${name}`]).toHaveLength(4);
      expect(owned[`Net.${name}`]).toEqual([...owned[`Net.${name}.in_proj`], ...owned[`Net.${name}.out_proj`]]);
    }
    expect(owned.Net).toEqual(blocks.flatMap((name) => owned[`Net.${name}`]));
  });

  test("a block that runs by itself is entered as one", async () => {
    const model = net();
    const block = model.layers[0] as unknown as tf.LayersModel;
    expect(moduleEvents(await traceOf(model, () => block.predict(batch())))).toEqual(
      blockEvents("Net.block0").map((line) => `${line} forward`),
    );
  });
});

test("the first of the first of the first, and a functional model in it", async () => {
  const input = tf.input({ shape: [2] });
  const inner = tf.layers.dense({ name: "dense", units: 2 }).apply(input) as tf.SymbolicTensor;
  const sum = tf.layers.add({ name: "sum" }).apply([inner, input]) as tf.SymbolicTensor;
  const residual = tf.model({ name: "residual", inputs: input, outputs: sum });
  const stage = tf.sequential({ name: "stage", layers: [residual, tf.layers.dense({ name: "narrow", units: 2 })] });
  const model = tf.sequential({
    name: "net",
    layers: [tf.sequential({ name: "body", layers: [stage] }), perceptron("head")],
  });
  const events = moduleEvents(await traceOf(model, () => model.predict(batch())));
  const fqn = "net.body.stage.residual";
  expect(passOf(events, "forward")).toEqual(
    around("net", [
      ...around("net.body", [
        ...around("net.body.stage", [
          ...around(fqn, [...around(`${fqn}.dense`, []), ...around(`${fqn}.sum`, [])]),
          ...around("net.body.stage.narrow", []),
        ]),
      ]),
      ...blockEvents("net.head"),
    ]),
  );
});

test("groups within the first block, and around it", async () => {
  const first = tf.sequential({
    name: "first",
    layers: ["a_in", "a_out", "b_in", "b_out"].map((name) => tf.layers.dense({ name, units: 2, inputShape: [2] })),
  });
  const model = tf.sequential({ name: "net", layers: [first, perceptron("second")] });
  const grouping = ({ name }: Layer) => (name === "first" ? "stem" : /^([ab])_/.exec(name)?.[1]);
  const events = moduleEvents(await traceOf(model, () => model.predict(batch()), { grouping }));
  const group = (name: string) =>
    around(
      `net.stem.first.${name}`,
      ["in", "out"].flatMap((layer) => around(`net.stem.first.${name}.${name}_${layer}`, [])),
    );
  expect(passOf(events, "forward")).toEqual(
    around("net", [
      ...around("net.stem", around("net.stem.first", [...group("a"), ...group("b")])),
      ...blockEvents("net.second"),
    ]),
  );
});

test("the same model twice in a Sequential", async () => {
  const block = perceptron("block");
  const model = tf.sequential({ name: "net", layers: [block, block] });
  const events = moduleEvents(await traceOf(model, () => model.predict(batch())));
  const once = blockEvents("net.block");
  expect(passOf(events, "forward")).toEqual(around("net", [...once, ...once.map((line) => `${line}#1`)]));
});

test("between other layers nested models stand alone, and layers with layers in them are layers with kernels", async () => {
  const model = tf.sequential({
    name: "net",
    layers: [
      tf.layers.embedding({ name: "tokens", inputDim: 5, outputDim: 2, inputLength: 3 }),
      tf.layers.lstm({ name: "past", units: 2 }),
      tf.layers.activation({ name: "relu", activation: "relu" }),
      perceptron("block0"),
      perceptron("block1"),
      tf.layers.activation({ name: "soft", activation: "softmax" }),
    ],
  });
  const trace = await traceOf(model, () => model.predict(tf.ones([2, 3])));
  expect(trace.modules.filter(({ kind }) => kind === "Group").map(({ fqn }) => fqn)).toEqual(["net.past-relu"]);
});
