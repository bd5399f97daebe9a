import { RematError } from "@remat/trace";
import * as tf from "@tensorflow/tfjs";
import { zipSync } from "fflate";
import { describe, expect, it } from "vitest";
import { classSkeleton } from "../src/class-skeleton.js";
import { loadKerasModel } from "../src/index.js";
import { smallModel, topologyText } from "./topologies.js";

const input: [string, string, object] = ["x", "InputLayer", { batch_input_shape: [null, 8, 8, 4], dtype: "float32" }];
const conv = { filters: 4, kernel_size: [3, 3], padding: "same" };

function refusal(source: string | object, options?: Parameters<typeof loadKerasModel>[1]): [string, string] {
  try {
    loadKerasModel(source, options);
  } catch (error) {
    if (error instanceof RematError) return [error.code, error.message];
    throw error;
  }
  throw new Error("The model was loaded.");
}

/** A copy of MobileNet's file with one thing changed. */
function mobilenet(change: (config: { layers: Record<string, any>[]; [field: string]: any }) => void): object {
  const file = JSON.parse(topologyText("mobilenet_v1"));
  change(file.modelTopology.config);
  return file;
}

const again = "Export the model again (Keras' model.to_json(), or tensorflowjs_converter).";
const unsupported =
  "Rebuild the model in Keras without that option, or register a class of your own under this class name in the file.";

describe("a file that is no Keras topology", () => {
  it.each<[string, string | object, string, RegExp]>([
    ["text", "hello", "KERAS_NOT_JSON", /not JSON .*Give the text of a tfjs-layers model\.json/],
    ["an archive", "PK\u0003\u0004", "KERAS_NOT_JSON", /\.keras archive: give its bytes/],
    [
      "an HDF5 file",
      "\u0089HDF\r\n\u001a\n",
      "KERAS_NOT_JSON",
      /HDF5 file: give what readHdf5Topology of @remat\/keras-loader\/weights reads/,
    ],
    [
      "bytes of an HDF5 file",
      Buffer.from("\u0089HDF\r\n\u001a\n", "latin1"),
      "KERAS_NOT_JSON",
      /HDF5 file: give what readHdf5Topology of @remat\/keras-loader\/weights reads/,
    ],
    [
      "an archive cut short",
      Buffer.from("PK\u0003\u0004"),
      "KERAS_ARCHIVE",
      /archive cannot be read: invalid zip data/,
    ],
    [
      "an archive of something else",
      zipSync({ "a.txt": new Uint8Array(3) }),
      "KERAS_ARCHIVE",
      /it holds no config\.json/,
    ],
    ["a list", "[1]", "KERAS_CORRUPT", /the file is \[1\], expected a JSON object/],
    ["an empty object", {}, "KERAS_CORRUPT", /class_name is missing, expected a model's class/],
    [
      "a topology that is a number",
      { modelTopology: 3 },
      "KERAS_CORRUPT",
      /modelTopology is 3, expected a JSON object/,
    ],
    [
      "a graph model",
      { format: "graph-model", modelTopology: { node: [] } },
      "KERAS_GRAPH_MODEL",
      /--output_format tfjs_layers_model/,
    ],
    ["a graph", { modelTopology: { node: [] } }, "KERAS_GRAPH_MODEL", /no layers to work on/],
    [
      "a subclassed model",
      { class_name: "MyModel", config: {} },
      "KERAS_MODEL_UNKNOWN",
      /is a MyModel, expected a Functional, Model or Sequential/,
    ],
  ])("is refused: %s", (_what, source, code, message) => {
    const [foundCode, foundMessage] = refusal(source);
    expect(foundCode).toBe(code);
    expect(foundMessage).toMatch(message);
  });
});

describe("a corrupt topology is refused naming the field", () => {
  it.each<[string, object, string]>([
    [
      "no layers",
      mobilenet((config) => delete config["layers" as never]),
      "modelTopology.config.layers is missing, expected a list of at least one layer",
    ],
    [
      "no class",
      mobilenet((config) => delete config.layers[3]?.["class_name"]),
      "modelTopology.config.layers[3].class_name is missing, expected a layer's class",
    ],
    [
      "no config",
      mobilenet((config) => delete config.layers[3]?.["config"]),
      "modelTopology.config.layers[3].config is missing, expected the configuration of a layer",
    ],
    [
      "no name",
      mobilenet((config) => Object.assign(config.layers[3] ?? {}, { name: 3 })),
      "modelTopology.config.layers[3].config.name is 3, expected a layer's name",
    ],
    [
      "no calls",
      mobilenet((config) => delete config.layers[3]?.["inbound_nodes"]),
      "modelTopology.config.layers[3].inbound_nodes is missing, expected a list of the layer's calls",
    ],
    [
      "an odd call",
      mobilenet((config) => Object.assign(config.layers[3] ?? {}, { inbound_nodes: [["conv1", 0, 0]] })),
      'modelTopology.config.layers[3].inbound_nodes[0] is ["conv1",0,0], expected [[layer, call, output, {…}], …] (Keras 2) or {args, kwargs} (Keras 3)',
    ],
    [
      "no output",
      mobilenet((config) => Object.assign(config, { output_layers: [] })),
      "modelTopology.config.output_layers is [], expected [[layer, call, output], …]",
    ],
  ])("%s", (_what, source, message) => {
    expect(refusal(source)).toEqual(["KERAS_CORRUPT", `Keras topology: ${message}. ${again}`]);
  });

  it.each<[string, object, string]>([
    [
      "an input of nowhere",
      mobilenet((config) => Object.assign(config.layers[3] ?? {}, { inbound_nodes: [[["nowhere", 0, 0, {}]]] })),
      "layer 'conv1_relu' (ReLU) takes the output of 'nowhere', which is no layer of the file",
    ],
    [
      "a call that is not made",
      mobilenet((config) => Object.assign(config.layers[3] ?? {}, { inbound_nodes: [[["conv1", 2, 0, {}]]] })),
      "layer 'conv1_relu' (ReLU) takes the output of call 2 of layer 'conv1' (Conv2D), whose calls are 0 to 0",
    ],
    [
      "a cycle",
      mobilenet((config) => Object.assign(config.layers[1] ?? {}, { inbound_nodes: [[["conv1_relu", 0, 0, {}]]] })),
      "layer 'conv1' (Conv2D) takes part in a cycle",
    ],
    [
      "a name twice",
      mobilenet((config) => Object.assign(config.layers[3] ?? {}, { name: "conv1" })),
      "two layers are named 'conv1'",
    ],
    [
      "an output of nowhere",
      mobilenet((config) => Object.assign(config, { output_layers: [["nowhere", 0, 0]] })),
      "the model has the output of 'nowhere', which is no layer of the file",
    ],
  ])("%s", (_what, source, message) => {
    expect(refusal(source)).toEqual([
      "KERAS_GRAPH_BROKEN",
      `Keras topology: in modelTopology.config, ${message}. ${again}`,
    ]);
  });
});

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
      /^tfjs-layers cannot make layer 's' \(Squash\): it has no such class\. .*tf\.serialization\.registerClass/,
    ],
    [
      "a layer of strings",
      smallModel(input, ["s", "Hashing", { num_bins: 3 }, ["x"]]),
      "KERAS_LAYER_UNKNOWN",
      /^tfjs-layers cannot make layer 's' \(Hashing\): it works on strings, .*\. Do that step before the model, or write it as a class/,
    ],
    [
      "a Lambda",
      smallModel(input, ["f", "Lambda", {}, ["x"]]),
      "KERAS_LAYER_UNKNOWN",
      /layer 'f' \(Lambda\): it is a call of a function, not a layer\. Write that step as a layer/,
    ],
    [
      "whole numbers to compute in",
      smallModel(input, ["r", "ReLU", { dtype: { class_name: "Policy", config: { name: "int8" } } }, ["x"]]),
      "KERAS_DTYPE_UNSUPPORTED",
      /^Layer 'r' \(ReLU\) has the dtype "int8"; tfjs-layers computes in float32\./,
    ],
    [
      "an unknown activation",
      smallModel(input, ["a", "Activation", { activation: "hard_shrink" }, ["x"]]),
      "KERAS_LAYER_REFUSED",
      /^Layer 'a' \(Activation\) at modelTopology\.config\.layers\[1\] is refused by tfjs-layers: Unknown activation: hardShrink/,
    ],
    [
      "shapes that do not fit",
      smallModel(input, ["f", "Flatten", {}, ["x"]], ["c", "Conv2D", conv, ["f"]]),
      "KERAS_LAYER_REFUSED",
      /^Layer 'c' \(Conv2D\) at modelTopology\.config\.layers\[2\] is refused by tfjs-layers on \[null, 256\]: Input 0 is incompatible with layer c: expected ndim=4, found ndim=2/,
    ],
    [
      "keyword tensors",
      smallModel(input, ["r", "ReLU", {}, [["x", 0, 0, { mask: ["x", 0, 0] }]]]),
      "KERAS_CALL_UNSUPPORTED",
      /^Layer 'r' \(ReLU\) is called with the argument mask: \["x",0,0\], which tfjs-layers cannot pass/,
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
      "Keras called layer 'dropout' (Dropout) with [null, 1, 1, 1024], tfjs-layers has [null, 1024] there, from 'global_average_pooling2d' " +
        "(GlobalAveragePooling2D): tfjs-layers understands that layer differently. Replace it in Keras by a layer that both have, or register " +
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

describe("an input shape that does not fit is refused", () => {
  const two = smallModel(
    ["x", "InputLayer", { batch_input_shape: [null, 4] }],
    ["w", "InputLayer", { batch_input_shape: [null, 4] }],
    ["a", "Add", {}, ["x", "w"]],
  );
  two.modelTopology.config.input_layers = [
    ["x", 0, 0],
    ["w", 0, 0],
  ];

  it.each<[string, object, Parameters<typeof loadKerasModel>[1], string]>([
    [
      "one for two inputs",
      two,
      { inputShape: [3] },
      "the model has 2 inputs ('x', 'w'), and one shape was given. Give the shapes by name.",
    ],
    ["an unknown name", two, { inputShape: { y: [3] } }, "the model has no input 'y'. Its inputs are 'x', 'w'."],
    [
      "another rank",
      two,
      { inputShape: { x: [3, 3] } },
      "input 'x' has 1 dimensions besides the batch, and 2 were given. Give as many.",
    ],
  ])("%s", (_what, source, options, message) => {
    expect(refusal(source, options)).toEqual(["KERAS_INPUT_SHAPE", `Cannot set the input shape: ${message}`]);
  });

  it("and is taken by name for several inputs", () => {
    expect(loadKerasModel(two, { inputShape: { x: [3], w: [3] } }).outputs[0]?.shape).toEqual([null, 3]);
  });
});

describe("a file that nobody's program wrote", () => {
  it.each(["constructor", "__proto__", "toString", "hasOwnProperty"])(
    "is refused naming the layer: the class '%s', which every object has",
    (className) => {
      const [code, message] = refusal(smallModel(input, ["odd", className, {}, ["x"]]));
      expect(code).toBe("KERAS_LAYER_UNKNOWN");
      expect(message).toBe(
        `tfjs-layers cannot make layer 'odd' (${className}): it has no such class. ` +
          `Write it as a class with \`static className = "${className}"\` and call tf.serialization.registerClass before loading. ` +
          `Or give it as one of \`layers\`, with the command --layers my-layers.js:\n\n${classSkeleton(className, {})}\n\nWrite into it what the layer computes.`,
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
        `^Layer 'odd' \\(Dense\\) at \\S+ is refused by tfjs-layers: Unknown ${what}: (constructor|toString)\\. ` +
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
      `Layer 'x' (InputLayer) has ${field}: ${JSON.stringify(shape)}, expected whole numbers of at least 1, or null where a size is not known. ` +
        "Change that layer in Keras and export the model again.",
    ]);
  });

  it.each(["kernel_initializer", "activity_regularizer", "bias_constraint", "activation"])(
    "is refused naming the field: a model in the place of its %s",
    (field) => {
      const model = smallModel(input, ["inner", "ReLU", {}, ["x"]]).modelTopology;
      expect(refusal(smallModel(input, ["conv", "Conv2D", { ...conv, [field]: model }, ["x"]]))).toEqual([
        "KERAS_LAYER_REFUSED",
        `Layer 'conv' (Conv2D) has a Functional in its ${field}, expected no model there. ` +
          "Change that layer in Keras and export the model again.",
      ]);
    },
  );

  it("is refused naming the weight: what is no initializer in the place of one", () => {
    const tokens: [string, string, object] = ["x", "InputLayer", { batch_input_shape: [null, 5], dtype: "int32" }];
    const embedding = { input_dim: 11, output_dim: 3, embeddings_initializer: "tanh" };
    expect(refusal(smallModel(tokens, ["words", "Embedding", embedding, ["x"]]))).toEqual([
      "KERAS_LAYER_REFUSED",
      "Layer 'words' (Embedding) at modelTopology.config.layers[1] has an initializer of its weight 'embeddings' that gives [2], expected [11, 3]. " +
        "Choose an initializer in Keras and export the model again.",
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
      /^Layer 'small' \(Functional\) at modelTopology has too many layers in a row for tfjs-layers, .* Make the model of models of at most 1,000 layers each in Keras and export it again\.$/,
    );
  });
});
