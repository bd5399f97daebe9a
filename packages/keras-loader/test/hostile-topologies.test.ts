import "@tensorflow/tfjs";
import { describe, expect, it } from "vitest";
import { classSkeleton } from "../src/class-skeleton.js";
import { again, refusal } from "./refusal.js";
import { smallModel } from "./topologies.js";

const input: [string, string, object] = ["x", "InputLayer", { batch_input_shape: [null, 8, 8, 4], dtype: "float32" }];
const conv = { filters: 4, kernel_size: [3, 3], padding: "same" };

describe("a file that nobody's program wrote", () => {
  it.each(["constructor", "__proto__", "toString", "hasOwnProperty"])(
    "is refused naming the layer: the class '%s', which every object has",
    (className) => {
      const [code, message] = refusal(smallModel(input, ["odd", className, {}, ["x"]]));
      expect(code).toBe("KERAS_LAYER_UNKNOWN");
      expect(message).toBe(
        `tfjs-layers does not support layer 'odd' (${className}): it has no such class. ` +
          `Write it as a class with \`static className = "${className}"\` and call tf.serialization.registerClass before loading. ` +
          `Or pass it in \`layers\` (on the command line --layers my-layers.js):\n\n${classSkeleton(className, {})}\n\nFill in what the layer computes.`,
      );
    },
  );

  it.each<[string, object]>([
    ["activation", { activation: "constructor" }],
    ["initializer", { kernel_initializer: { class_name: "constructor", config: {} } }],
    ["regularizer", { kernel_regularizer: { class_name: "toString", config: {} } }],
  ])("is refused naming the layer: an %s that every object has", (what, config) => {
    const [code, message] = refusal(smallModel(input, ["odd", "Dense", { units: 2, ...config }, ["x"]]));
    expect(code).toBe("KERAS_LAYER_REFUSED");
    expect(message).toMatch(
      new RegExp(
        `^Layer 'odd' \\(Dense\\) at \\S+ is not supported by tfjs-layers: Unknown ${what}: (constructor|toString)\\. ` +
          "Change that layer in Keras and export the model again\\.$",
      ),
    );
  });

  it.each<[string, string, object, string]>([
    ["a stride of 0", "Conv2D", { ...conv, strides: [1, 0] }, "strides: [1,0]"],
    ["a stride of 0 for both axes", "DepthwiseConv2D", { kernel_size: 3, strides: 0 }, "strides: 0"],
    ["a negative stride", "SeparableConv2D", { ...conv, strides: -1 }, "strides: -1"],
    ["half a stride", "Conv2DTranspose", { ...conv, strides: 0.5 }, "strides: 0.5"],
    ["no strides", "Conv2D", { ...conv, strides: [] }, "strides: []"],
    ["an empty kernel", "Conv2D", { ...conv, kernel_size: [0, 3] }, "kernel_size: [0,3]"],
    ["no dilation", "Conv2D", { ...conv, dilation_rate: 0 }, "dilation_rate: 0"],
    ["an empty window", "MaxPooling2D", { pool_size: [2, 0] }, "pool_size: [2,0]"],
    ["no stride of a window", "AveragePooling2D", { strides: [0, 0] }, "strides: [0,0]"],
    ["a factor of 0", "UpSampling2D", { size: 0 }, "size: 0"],
  ])("is refused naming the option: %s", (_what, className, config, option) => {
    expect(refusal(smallModel(input, ["odd", className, config, ["x"]]))).toEqual([
      "KERAS_SIZE_WRONG",
      `Layer 'odd' (${className}) has ${option}, expected whole numbers of at least 1. ` +
        "Change that layer in Keras and export the model again.",
    ]);
  });

  it.each<[string, object]>([
    ["batch_shape", [0, 6, 5, 4]],
    ["batch_input_shape", [null, 8, 0, 4]],
    ["batch_input_shape", [null, -8, 8, 4]],
    ["batch_shape", [null, 8.5, 8, 4]],
    ["batch_shape", [null, "8", 8, 4]],
  ])("is refused naming the field: an input with %s of %j", (field, shape) => {
    const file = smallModel(["x", "InputLayer", { [field]: shape }], ["relu", "ReLU", {}, ["x"]]);
    expect(refusal(file)).toEqual([
      "KERAS_SIZE_WRONG",
      `Layer 'x' (InputLayer) has ${field}: ${JSON.stringify(shape)}, expected whole numbers of at least 1, or null for an unknown size. ` +
        "Change that layer in Keras and export the model again.",
    ]);
  });

  it.each(["kernel_initializer", "activity_regularizer", "bias_constraint", "activation"])(
    "is refused naming the field: a model in the place of its %s",
    (field) => {
      const model = smallModel(input, ["inner", "ReLU", {}, ["x"]]).modelTopology;
      expect(refusal(smallModel(input, ["conv", "Conv2D", { ...conv, [field]: model }, ["x"]]))).toEqual([
        "KERAS_LAYER_REFUSED",
        `Layer 'conv' (Conv2D) has a Functional in its ${field}, which is not supported. ` +
          "Change that layer in Keras and export the model again.",
      ]);
    },
  );

  it("is refused naming the weight: what is no initializer in the place of one", () => {
    const tokens: [string, string, object] = ["x", "InputLayer", { batch_input_shape: [null, 5], dtype: "int32" }];
    const embedding = { input_dim: 11, output_dim: 3, embeddings_initializer: "tanh" };
    expect(refusal(smallModel(tokens, ["words", "Embedding", embedding, ["x"]]))).toEqual([
      "KERAS_LAYER_REFUSED",
      "Layer 'words' (Embedding) at modelTopology.config.layers[1] initializes its weight 'embeddings' with shape [2], expected [11, 3]. " +
        "Choose another initializer in Keras and export the model again.",
    ]);
  });

  it("is refused naming the call: what is no tensor among a function's", () => {
    const file = smallModel(input, ["sum", "TFOpLambda", { function: "concat" }]);
    (file.modelTopology.config.layers[1] as Record<string, unknown>)["inbound_nodes"] = [[3]];
    expect(refusal(file)).toEqual([
      "KERAS_CORRUPT",
      `Keras topology: modelTopology.config.layers[1].inbound_nodes[0] is [3], expected [layer, call, output, {…}] or a list of these. ${again}`,
    ]);
  });

  it("is refused with what to do: 10,000 layers in a row", () => {
    const names = Array.from({ length: 10_000 }, (_, i) => `relu${i}`);
    const chain = names.map((name, i): [string, string, object, string[]] => [
      name,
      "Activation",
      { activation: "relu" },
      [names[i - 1] ?? "x"],
    ]);
    const [code, message] = refusal(smallModel(input, ...chain));
    expect(code).toBe("KERAS_TOO_DEEP");
    expect(message).toMatch(
      /^Layer 'small' \(Functional\) at modelTopology is too deep for tfjs-layers, .* Split it in Keras into models of at most 1,000 layers each and export it again\.$/,
    );
  });
});
