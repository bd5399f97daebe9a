import { fakeMode } from "@remat/dispatch-hook/fake";
import * as tf from "@tensorflow/tfjs";
import { describe, expect, it } from "vitest";
import { loadKerasModel } from "../src/index.js";

describe("a layer without data", () => {
  it.each([
    ["oneHot", "one_hot", [1], [2, 5]],
    ["multiHot", "multi_hot", [3], [2, 5]],
    ["count", "count", [3], [2, 5]],
  ])("CategoryEncoding in the mode %s reads none", (_, mode, shape, expected) => {
    const layers = [
      { class_name: "InputLayer", config: { name: "x", batch_input_shape: [null, ...shape], dtype: "int32" } },
      { class_name: "CategoryEncoding", config: { name: "c", num_tokens: 5, output_mode: mode } },
    ];
    const shapes = fakeMode(() => {
      const model = loadKerasModel({ class_name: "Sequential", config: { name: "m", layers } });
      return (model.apply(tf.zeros([2, ...shape], "int32")) as tf.Tensor).shape;
    });
    expect(shapes).toEqual(expected);
  });
});
