import * as tf from "@tensorflow/tfjs";
import { describe, expect, it } from "vitest";
import { loadKerasModel } from "../src/index.js";
import { mobilenet, refusal } from "./refusal.js";
import { smallModel } from "./topologies.js";

const input: [string, string, object] = ["x", "InputLayer", { batch_input_shape: [null, 8, 8, 4], dtype: "float32" }];
const conv = { filters: 4, kernel_size: [3, 3], padding: "same" };
const unsupported = "Rebuild the model in Keras without that option, or register your own class under this class name.";

describe("a layer that tfjs-layers lacks or misunderstands is refused by name", () => {
  it.each<[string, object, string]>([
    [
      "grouped convolution",
      smallModel(input, ["c", "Conv2DTranspose", { ...conv, groups: 2 }, ["x"]]),
      "Layer 'c' (Conv2DTranspose) has groups: 2, which tfjs-layers would ignore: it has no grouped convolution.",
    ],
    [
      "renormalisation",
      smallModel(input, ["b", "BatchNormalization", { renorm: true }, ["x"]]),
      "Layer 'b' (BatchNormalization) has renorm: true, which tfjs-layers would ignore: it has no batch renormalisation.",
    ],
    [
      "an option inside a wrapper",
      smallModel(input, [
        "t",
        "TimeDistributed",
        { layer: { class_name: "SeparableConv2D", config: { name: "inner", groups: 2 } } },
        ["x"],
      ]),
      "Layer 'inner' (SeparableConv2D) has groups: 2, which tfjs-layers would ignore: it has no grouped convolution.",
    ],
  ])("%s", (_what, source, message) => {
    expect(refusal(source)).toEqual(["KERAS_OPTION_UNSUPPORTED", `${message} ${unsupported}`]);
  });

  it.each<[string, object, string, RegExp]>([
    [
      "an unknown class",
      smallModel(input, ["s", "Squash", { num_bins: 3 }, ["x"]]),
      "KERAS_LAYER_UNKNOWN",
      /^tfjs-layers does not support layer 's' \(Squash\): it has no such class\. .*tf\.serialization\.registerClass/,
    ],
    [
      "a layer of strings",
      smallModel(input, ["s", "Hashing", { num_bins: 3 }, ["x"]]),
      "KERAS_LAYER_UNKNOWN",
      /^tfjs-layers does not support layer 's' \(Hashing\): it works on strings, .*\. Do that step before the model, or write it as a class/,
    ],
    [
      "a Lambda",
      smallModel(input, ["f", "Lambda", {}, ["x"]]),
      "KERAS_LAYER_UNKNOWN",
      /layer 'f' \(Lambda\): it is a call of a function, not a layer\. Use a layer/,
    ],
    [
      "whole numbers to compute in",
      smallModel(input, ["r", "ReLU", { dtype: { class_name: "Policy", config: { name: "int8" } } }, ["x"]]),
      "KERAS_DTYPE_UNSUPPORTED",
      /^Layer 'r' \(ReLU\) has the dtype "int8", and tfjs-layers supports only float32\./,
    ],
    [
      "an unknown activation",
      smallModel(input, ["a", "Activation", { activation: "hard_shrink" }, ["x"]]),
      "KERAS_LAYER_REFUSED",
      /^Layer 'a' \(Activation\) at modelTopology\.config\.layers\[1\] is not supported by tfjs-layers: Unknown activation: hardShrink/,
    ],
    [
      "shapes that do not fit",
      smallModel(input, ["f", "Flatten", {}, ["x"]], ["c", "Conv2D", conv, ["f"]]),
      "KERAS_LAYER_REFUSED",
      /^Layer 'c' \(Conv2D\) at modelTopology\.config\.layers\[2\] is not supported by tfjs-layers on \[null, 256\]: Input 0 is incompatible with layer c: expected ndim=4, found ndim=2/,
    ],
    [
      "keyword tensors",
      smallModel(input, ["r", "ReLU", {}, [["x", 0, 0, { mask: ["x", 0, 0] }]]]),
      "KERAS_CALL_UNSUPPORTED",
      /^Layer 'r' \(ReLU\) is called with the argument mask: \["x",0,0\], which tfjs-layers does not support/,
    ],
  ])("%s", (_what, source, code, message) => {
    const [foundCode, foundMessage] = refusal(source);
    expect(foundMessage).toMatch(message);
    expect(foundCode).toBe(code);
  });

  it("a layer whose output has another shape than Keras computed, naming it and the layer that noticed", () => {
    const source = mobilenet((config) => {
      const pooling = config.layers.find((layer) => layer["name"] === "global_average_pooling2d");
      if (pooling !== undefined) pooling["config"].keepdims = false;
    });
    expect(refusal(source)).toEqual([
      "KERAS_SHAPE_DIFFERS",
      "Keras called layer 'dropout' (Dropout) with [null, 1, 1, 1024], but tfjs-layers computes [null, 1024] from 'global_average_pooling2d' " +
        "(GlobalAveragePooling2D). Replace that layer in Keras, or register " +
        "a corrected class with tf.serialization.registerClass.",
    ]);
  });

  it("a backward layer that is no mirror of the forward one", () => {
    const half = (name: string, units: number, go_backwards: boolean) => ({
      class_name: "LSTM",
      // Keras numbers the objects of a saved model.
      config: {
        name,
        units,
        go_backwards,
        bias_initializer: { class_name: "Zeros", config: {}, shared_object_id: name },
      },
    });
    const sequence: [string, string, object] = [
      "x",
      "InputLayer",
      { batch_input_shape: [null, 8, 4], dtype: "float32" },
    ];
    const bidirectional = (units: number) =>
      smallModel(sequence, [
        "b",
        "Bidirectional",
        { layer: half("f", 3, false), backward_layer: half("g", units, true) },
        ["x"],
      ]);
    expect(loadKerasModel(bidirectional(3)).outputs[0]?.shape).toEqual([null, 6]);
    expect(refusal(bidirectional(4))[1]).toMatch(
      /^Layer 'b' \(Bidirectional\) has a backward layer that is not the mirror of its forward layer/,
    );
  });

  it("leaves no tensor behind", () => {
    const source = smallModel(
      input,
      ["c", "Conv2D", conv, ["x"]],
      ["f", "Flatten", {}, ["c"]],
      ["d", "Conv2D", conv, ["f"]],
    );
    const before = tf.memory().numTensors;
    expect(refusal(source)[0]).toBe("KERAS_LAYER_REFUSED");
    expect(tf.memory().numTensors).toBe(before);
  });
});
