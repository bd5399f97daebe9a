import { selectBackend } from "@remat/dispatch-hook/backends/node";
import * as tf from "@tensorflow/tfjs";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  checkpoint,
  checkpointLayers,
  endCheckpointing,
  measurePeakBytes,
  releaseEarly,
  saveMatmuls,
} from "../../src/index.js";

beforeAll(async () => {
  await tf.setBackend("cpu");
});
afterEach(() => endCheckpointing());

function residualNet(): tf.LayersModel {
  const init = (seed: number) => tf.initializers.randomNormal({ stddev: 0.2, seed });
  const input = tf.input({ shape: [16] });
  let h = input;
  for (let i = 1; i <= 4; i++) {
    const dense = (part: string, activation: "relu" | "tanh") =>
      tf.layers.dense({ name: `block_${i}_${part}`, units: 16, activation, kernelInitializer: init(i) });
    const first = dense("expand", "relu").apply(h);
    const normal = tf.layers.batchNormalization({ name: `block_${i}_bn` }).apply(first);
    const second = dense("project", "tanh").apply(normal);
    h = tf.layers.add({ name: `block_${i}_add` }).apply([h, second as tf.SymbolicTensor]) as tf.SymbolicTensor;
  }
  const output = tf.layers.dense({ name: "head", units: 1, kernelInitializer: init(9) }).apply(h);
  const model = tf.model({ inputs: input, outputs: output as tf.SymbolicTensor, name: "net" });
  model.compile({ optimizer: tf.train.momentum(0.05, 0.9), loss: "meanSquaredError" });
  return model;
}

async function train(model: tf.LayersModel): Promise<{ losses: unknown[]; weights: number[][]; peakBytes: number }> {
  const x = tf.tidy(() => tf.linspace(-1, 1, 64 * 16).reshape([64, 16]));
  const y = tf.tidy(() => tf.linspace(0, 1, 64).reshape([64, 1]));
  const losses: unknown[] = [];
  const { peakBytes } = await measurePeakBytes(
    async () => {
      for (let step = 0; step < 3; step++) losses.push(await model.trainOnBatch(x, y));
    },
    model.weights.map((weight) => weight.read()),
  );
  const weights = model.getWeights().map((weight) => [...weight.dataSync()]);
  tf.dispose([x, y]);
  return { losses, weights, peakBytes };
}

const trained = async (prepare: (model: tf.LayersModel) => () => void) => {
  const before = tf.memory().numTensors;
  const model = residualNet();
  const end = prepare(model);
  const result = await train(model);
  end();
  model.dispose();
  model.optimizer.dispose();
  return { ...result, tensorsLeft: tf.memory().numTensors - before };
};

describe("blocks of a flat model, by the names of its layers", () => {
  test.each([
    ["saveNothing", {}],
    ["saveMatmuls", { policy: saveMatmuls }],
    ["cuts", { grouping: "prefixes" as const }],
  ])("%s: losses and weights are stock's, in less memory than early release needs", async (_name, options) => {
    const stock = await trained(() => () => {});
    const early = await trained(() => releaseEarly());
    const blocks = await trained((model) => checkpointLayers(model, "block_*", options));
    expect(blocks.losses).toEqual(stock.losses);
    expect(blocks.weights).toEqual(stock.weights);
    expect(blocks.tensorsLeft).toBe(stock.tensorsLeft);
    expect(early.peakBytes).toBeLessThan(stock.peakBytes);
    expect(blocks.peakBytes).toBeLessThan(early.peakBytes);
  });

  test("single layers, and paths", async () => {
    const stock = await trained(() => () => {});
    const layers = await trained((model) => checkpointLayers(model, "block_1.block_1_*"));
    expect(layers.losses).toEqual(stock.losses);
    expect(layers.weights).toEqual(stock.weights);
  });
});

test("a pattern that matches nothing is refused with the names that there are", () => {
  const model = residualNet();
  expect(() => checkpointLayers(model, "stage*")).toThrow(
    /no layer or group of 'net' matches 'stage\*'\. Use one of block_1, .*block_1\.block_1_expand/,
  );
  model.dispose();
  expect(() => checkpointLayers(model, model.layers as unknown as string)).toThrow(
    expect.objectContaining({ code: "ARGUMENT", message: expect.stringContaining("checkpointLayers's pattern") }),
  );
});

describe("ending the blocks of a model", () => {
  const taken = () => (tf.engine() as unknown as { readonly runKernelFunc: unknown }).runKernelFunc;

  test("leaves the engine as it was, once nobody has blocks any more", () => {
    const stock = taken();
    const [first, second] = [residualNet(), residualNet()];
    const ends = [first, second].map((model) => checkpointLayers(model, "block_*"));
    const hooked = taken();
    expect(hooked).not.toBe(stock);
    ends[0]();
    ends[0]();
    expect(taken()).toBe(hooked);
    ends[1]();
    expect(taken()).toBe(stock);
    for (const model of [first, second]) model.dispose();
  });

  test("lets another model train on wasm as in stock", async () => {
    const ended = residualNet();
    checkpointLayers(ended, "block_*")();
    ended.dispose();
    await selectBackend({ backend: "wasm" });
    try {
      const run = async () => {
        const model = tf.sequential({
          layers: [1, 2].map((seed) =>
            tf.layers.dense({
              units: 4,
              inputShape: [4],
              activation: "tanh",
              kernelInitializer: tf.initializers.glorotNormal({ seed }),
            }),
          ),
        });
        model.compile({ optimizer: "sgd", loss: "meanSquaredError" });
        const x = tf.randomNormal([8, 4], 0, 1, "float32", 3);
        const { history } = await model.fit(x, x, { epochs: 2, verbose: 0, shuffle: false });
        const weights = model.getWeights().map((weight) => [...weight.dataSync()]);
        model.dispose();
        x.dispose();
        return { history, weights };
      };
      const stock = await run();
      const other = residualNet();
      const end = checkpointLayers(other, "block_*");
      // A model that is none of the blocks', while they are there, and when they are not.
      expect(await run()).toEqual(stock);
      end();
      expect(await run()).toEqual(stock);
      other.dispose();
    } finally {
      await tf.setBackend("cpu");
    }
  });

  test("leaves functions that are checkpointed as they are", () => {
    const stock = taken();
    checkpoint((x: tf.Tensor) => tf.relu(x));
    const model = residualNet();
    checkpointLayers(model, "block_*")();
    expect(taken()).not.toBe(stock);
    endCheckpointing();
    expect(taken()).toBe(stock);
    model.dispose();
  });
});
