import * as tf from "@tensorflow/tfjs-core";
import * as tfl from "@tensorflow/tfjs-layers";
import { afterEach, describe, expect, it } from "vitest";
import { embeddedInputs } from "../src/embedded-inputs.js";
import { defineModel, tfNamespace } from "../src/model-definition.js";
import "@tensorflow/tfjs-backend-cpu";

const { layers } = tfl;
const embedding = (inputDim: number) => layers.embedding({ inputDim, outputDim: 3 });

afterEach(() => {
  tf.disposeVariables();
});

describe("inputs that number the rows of a table", () => {
  it("are those of embeddings, the smallest of several", () => {
    const words = tfl.input({ shape: [6] });
    const picture = tfl.input({ shape: [5] });
    const long = layers.flatten().apply(embedding(50).apply(words)) as tfl.SymbolicTensor;
    const short = layers.flatten().apply(embedding(7).apply(words)) as tfl.SymbolicTensor;
    const outputs = layers.concatenate().apply([long, short, picture]) as tfl.SymbolicTensor;
    expect(embeddedInputs(tfl.model({ inputs: [picture, words], outputs }))).toEqual([undefined, 7]);
  });

  it("are seen through layers that hand values on, and in models within", () => {
    const within = tfl.sequential({ layers: [layers.inputLayer({ inputShape: [6] }), embedding(9)] });
    const input = tfl.input({ shape: [2, 3] });
    const outputs = within.apply(layers.reshape({ targetShape: [6] }).apply(input)) as tfl.SymbolicTensor;
    expect(embeddedInputs(tfl.model({ inputs: input, outputs }))).toEqual([9]);
    const computed = embedding(9).apply(layers.activation({ activation: "relu" }).apply(input)) as tfl.SymbolicTensor;
    expect(embeddedInputs(tfl.model({ inputs: input, outputs: computed }))).toEqual([undefined]);
  });

  it("are made up as numbers of rows that are there", async () => {
    const made = () =>
      tfl.sequential({
        layers: [
          layers.embedding({ inputDim: 4, outputDim: 3, inputLength: 40 }),
          layers.flatten(),
          layers.dense({ units: 1 }),
        ],
      });
    const context = {
      tf: tfNamespace(),
      size: "full",
      batch: 8,
      scope: (_: string, run: () => unknown) => run(),
    } as const;
    const { inputs, model } = await defineModel(made, context as Parameters<typeof defineModel>[1], "words");
    const [given] = inputs as tf.Tensor[];
    expect(new Set(given.dataSync())).toEqual(new Set([0, 1, 2, 3]));
    expect((model!.predict(given) as tf.Tensor).shape).toEqual([8, 1]);
  });
});
