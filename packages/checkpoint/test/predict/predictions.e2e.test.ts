import { selectBackend } from "@remat/dispatch-hook/backends/node";
import { heldPeak } from "@remat/memory";
import { nativeApp, sampledCases } from "@remat/testkit";
import { traceFakeStep, traceStep } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";
import { beforeAll, describe, expect, it } from "vitest";
import { exampleNamed, exampleNames } from "../training.js";
import { measurePrediction } from "./measure-prediction.js";

const { layers } = tf;
const native = nativeApp();

/** Models that are used as they are, beside those of examples/. */
const made: Readonly<Record<string, () => tf.LayersModel>> = {
  perceptron: () =>
    tf.sequential({
      layers: [layers.dense({ units: 64, inputShape: [32] }), layers.dense({ units: 4, activation: "softmax" })],
    }),
  "one layer": () => tf.sequential({ layers: [layers.dense({ units: 4, inputShape: [8] })] }),
  "convolutions and pooling": () =>
    tf.sequential({
      layers: [
        layers.conv2d({ filters: 8, kernelSize: 3, inputShape: [16, 16, 3], activation: "relu" }),
        layers.maxPooling2d({ poolSize: 2 }),
        layers.batchNormalization(),
        layers.dropout({ rate: 0.5 }),
        layers.flatten(),
        layers.dense({ units: 10 }),
      ],
    }),
  "depthwise and separable": () =>
    tf.sequential({
      layers: [
        layers.depthwiseConv2d({ kernelSize: 3, inputShape: [12, 12, 4] }),
        layers.separableConv2d({ filters: 8, kernelSize: 3 }),
        layers.globalAveragePooling2d({}),
      ],
    }),
  "a branch that waits": () => {
    const x = tf.input({ shape: [24] });
    const wide = layers.dense({ units: 256 }).apply(x) as tf.SymbolicTensor;
    let y = layers.dense({ units: 32 }).apply(x) as tf.SymbolicTensor;
    for (let i = 0; i < 4; i++) y = layers.dense({ units: 32, activation: "relu" }).apply(y) as tf.SymbolicTensor;
    const back = layers.dense({ units: 256 }).apply(y) as tf.SymbolicTensor;
    return tf.model({ inputs: x, outputs: layers.add().apply([wide, back]) as tf.SymbolicTensor });
  },
  "two inputs and two outputs": () => {
    const [a, b] = [tf.input({ shape: [6] }), tf.input({ shape: [10] })];
    const both = layers.concatenate().apply([a, b]) as tf.SymbolicTensor;
    const outputs = [2, 3].map((units) => layers.dense({ units }).apply(both) as tf.SymbolicTensor);
    return tf.model({ inputs: [a, b], outputs });
  },
  "a recurrent layer": () =>
    tf.sequential({ layers: [layers.gru({ units: 8, inputShape: [5, 3] }), layers.dense({ units: 1 })] }),
  "a model in a model": () => {
    const inner = tf.sequential({ layers: [layers.dense({ units: 16, inputShape: [8], activation: "relu" })] });
    return tf.sequential({ layers: [inner, layers.dense({ units: 2 })] });
  },
};

/** Takes words, which random numbers are none of. */
const embedding = ({ batch = 1 }: { readonly batch?: number }) => ({
  model: tf.sequential({
    layers: [
      layers.embedding({ inputDim: 50, outputDim: 8, inputLength: 6 }),
      layers.bidirectional({ layer: layers.lstm({ units: 4 }) as tf.RNN, mergeMode: "concat" }),
    ],
  }),
  inputs: tf.ones([batch, 6], "int32"),
});

const models: readonly (readonly [name: string, exported: () => Promise<unknown>])[] = [
  ...exampleNames.map((name) => [name, () => exampleNamed(name)] as const),
  ["an embedding, both ways", () => Promise.resolve(embedding)],
  ...Object.entries(made).map(([name, build]) => [name, () => Promise.resolve(() => ({ model: build() }))] as const),
];

/** Each model runs on one of the backends, and at night on both. */
function predictsAsMeasured(backend: "cpu" | "tensorflow", offset: number, select: () => Promise<unknown>): void {
  beforeAll(select);

  it.each(sampledCases(models, 2, offset))("%s", async (_name, exported) => {
    for (const batch of [1, 3]) {
      const request = { predict: true, size: "tiny", batch, backend } as const;
      const fake = await traceFakeStep(await exported(), request);
      const { peakBytes } = heldPeak(fake);
      expect(heldPeak(await traceStep(await exported(), request)).peakBytes).toBe(peakBytes);
      expect(await measurePrediction(await exported(), batch)).toBe(peakBytes);
    }
  });
}

describe("the memory of inference is predicted to the byte, on cpu", () => {
  predictsAsMeasured("cpu", 0, () => tf.setBackend("cpu"));
});

describe.runIf(native !== undefined)("the memory of inference is predicted to the byte, on tensorflow", () => {
  predictsAsMeasured("tensorflow", 1, async () => selectBackend({ backend: "tensorflow", from: native! }));
});
