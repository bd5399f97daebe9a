import * as tf from "@tensorflow/tfjs";
import { beforeAll, describe, expect, it } from "vitest";
import { type ModelContext, prepareStep, traceFakeStep, traceStep } from "../src/index.js";

beforeAll(() => tf.setBackend("cpu"));

const dense = (activation: "softmax" | "linear") => (context: ModelContext) => {
  const { layers, sequential } = context.tf;
  return sequential({ layers: [layers.dense({ units: 5, activation, inputShape: [3] })] });
};

/** A softmax inside a model inside a model, one of each time, and one that is none. */
function severalOutputs({ tf: t }: ModelContext) {
  const input = t.input({ shape: [4, 3] });
  const inner = t.sequential({ layers: [t.layers.dense({ units: 2, activation: "softmax", inputShape: [4, 3] })] });
  const nested = inner.apply(input) as tf.SymbolicTensor;
  const classes = t.layers.dense({ units: 6, activation: "softmax" });
  const each = t.layers.timeDistributed({ layer: classes }).apply(input) as tf.SymbolicTensor;
  const plain = t.layers.dense({ units: 1 }).apply(input) as tf.SymbolicTensor;
  return t.model({ inputs: input, outputs: [nested, each, plain] });
}

async function lossAndTargets(build: (context: ModelContext) => unknown, loss?: string) {
  const step = await prepareStep(build, { batch: 7, loss, seed: 4 });
  const value: number[] = [];
  step.take({ loss: (scalar) => value.push(scalar.dataSync()[0]) });
  const targets = ([step.definition.targets ?? []].flat() as tf.Tensor[]).map((target) => ({
    shape: target.shape,
    values: Array.from(target.dataSync()),
  }));
  step.dispose();
  return { value: value[0], targets, notes: step.notes.join("\n") };
}

describe("the loss of a model that brings none", () => {
  it("is cross-entropy of random classes after a softmax", async () => {
    const { value, targets, notes } = await lossAndTargets(dense("softmax"));
    expect(targets.map(({ shape }) => shape)).toEqual([[7, 5]]);
    expect(targets[0].values.filter((each) => each !== 0)).toEqual(Array(7).fill(1));
    expect(targets[0].values.reduce((sum, each) => sum + each, 0)).toBe(7);
    expect(value).toBeGreaterThan(0.3);
    expect(value).toBeLessThan(6);
    expect(notes).toContain("categorical cross-entropy, because the output is a softmax, and random targets");
  });

  it("is mean squared error of random numbers elsewhere", async () => {
    const { value, targets, notes } = await lossAndTargets(dense("linear"));
    expect(targets[0].shape).toEqual([7, 5]);
    expect(targets[0].values.every((each) => each >= 0 && each < 1)).toBe(true);
    expect(value).toBeGreaterThan(0);
    expect(notes).toContain("mean squared error, because the output is not a softmax");
  });

  it("is decided for each output, inside models and wrappers, too", async () => {
    const { targets, notes } = await lossAndTargets(severalOutputs);
    expect(targets.map(({ shape }) => shape)).toEqual([
      [7, 4, 2],
      [7, 4, 6],
      [7, 4, 1],
    ]);
    const areClasses = targets.map(({ values }) => values.every((each) => each === 0 || each === 1));
    expect(areClasses).toEqual([true, true, false]);
    expect(notes).toContain("categorical cross-entropy for softmax outputs and mean squared error for the others");
  });

  it("is the one that was asked for", async () => {
    const { value, targets, notes } = await lossAndTargets(dense("softmax"), "sum");
    expect(value).toBeCloseTo(7, 4);
    expect(targets).toEqual([]);
    expect(notes).toContain("no loss in the model: using the sum of the outputs, as requested");
  });

  it("suits a function, whose outputs only a run tells", async () => {
    const build = (context: ModelContext) => {
      const w = context.tf.variable(context.tf.ones([3, 2]), true, "w");
      const x = context.tf.ones([4, 3]);
      return { forward: () => context.tf.matMul(x, w as unknown as tf.Tensor2D), parameters: { w }, inputs: x };
    };
    const { targets } = await lossAndTargets(build);
    expect(targets[0].shape).toEqual([4, 2]);
  });

  it("is made up of the same ops, fake and real, and leaves nothing behind", async () => {
    const before = { ...tf.memory() };
    for (const build of [dense("softmax"), severalOutputs]) {
      const options = { batch: 2, backend: "cpu" } as const;
      const [fake, real] = [await traceFakeStep(build, options), await traceStep(build, options)];
      const ops = ({ ops: { count }, ...trace }: typeof fake) =>
        Array.from({ length: count }, (_, op) => trace.strings[fake.ops.name[op]]);
      expect(ops(fake)).toEqual(ops(real));
      expect(fake.header.notes).toEqual(real.header.notes);
      expect(fake.header.step).toEqual({ size: "full", batch: 2, optimizer: "sgd", grouping: "auto", seed: 0 });
    }
    expect(tf.memory()).toEqual(before);
  });
});

it("computes the same from the same seed, and puts Math.random back", async () => {
  const { random } = Math;
  const losses: number[] = [];
  for (const seed of [1, 1, 2]) {
    const step = await prepareStep(dense("softmax"), { seed });
    step.take({ loss: (value) => losses.push(value.dataSync()[0]) });
    step.dispose();
    expect(Math.random).toBe(random);
  }
  expect(losses[1]).toBe(losses[0]);
  expect(losses[2]).not.toBe(losses[0]);
  await expect(
    prepareStep(() => {
      throw new Error("no model");
    }),
  ).rejects.toThrow("no model");
  expect(Math.random).toBe(random);
  const overlapping = [1, 2, 3].map((seed) => prepareStep(dense("linear"), { seed }));
  expect(Math.random).not.toBe(random);
  for (const step of await Promise.all(overlapping)) step.dispose();
  expect(Math.random).toBe(random);
});
