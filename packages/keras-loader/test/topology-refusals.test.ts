import "@tensorflow/tfjs";
import { zipSync } from "fflate";
import { describe, expect, it } from "vitest";
import { loadKerasModel } from "../src/index.js";
import { again, mobilenet, refusal } from "./refusal.js";
import { smallModel } from "./topologies.js";

describe("a file that is no Keras topology", () => {
  it.each<[string, string | object, string, RegExp]>([
    ["text", "hello", "KERAS_NOT_JSON", /not JSON .*Give the text of a tfjs-layers model\.json/],
    ["an archive", "PK\u0003\u0004", "KERAS_NOT_JSON", /\.keras archive: give its bytes/],
    [
      "an HDF5 file",
      "\u0089HDF\r\n\u001a\n",
      "KERAS_NOT_JSON",
      /HDF5 file: pass the result of readHdf5Topology of @remat\/keras-loader\/weights/,
    ],
    [
      "bytes of an HDF5 file",
      Buffer.from("\u0089HDF\r\n\u001a\n", "latin1"),
      "KERAS_NOT_JSON",
      /HDF5 file: pass the result of readHdf5Topology of @remat\/keras-loader\/weights/,
    ],
    [
      "an archive cut short",
      Buffer.from("PK\u0003\u0004"),
      "KERAS_ARCHIVE",
      /archive cannot be read: it has no directory: it is cut short/,
    ],
    [
      "an archive of something else",
      zipSync({ "a.txt": new Uint8Array(3) }),
      "KERAS_ARCHIVE",
      /it has no config\.json/,
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
    ["a graph", { modelTopology: { node: [] } }, "KERAS_GRAPH_MODEL", /which has no layers/],
    [
      "a subclassed model",
      { class_name: "MyModel", config: {} },
      "KERAS_MODEL_UNKNOWN",
      /MyModel is not supported as a Keras topology/,
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
      "layer 'conv1_relu' (ReLU) takes the output of 'nowhere', which is not a layer of the file",
    ],
    [
      "a call that is not made",
      mobilenet((config) => Object.assign(config.layers[3] ?? {}, { inbound_nodes: [[["conv1", 2, 0, {}]]] })),
      "layer 'conv1_relu' (ReLU) takes the output of call 2 of layer 'conv1' (Conv2D), which has calls 0 to 0",
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
      "the model has the output of 'nowhere', which is not a layer of the file",
    ],
  ])("%s", (_what, source, message) => {
    expect(refusal(source)).toEqual([
      "KERAS_GRAPH_BROKEN",
      `Keras topology: in modelTopology.config, ${message}. ${again}`,
    ]);
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
      "the model has 2 inputs ('x', 'w'), and only one shape was given. Give the shapes by name.",
    ],
    ["an unknown name", two, { inputShape: { y: [3] } }, "the model has no input 'y'. Its inputs are 'x', 'w'."],
    [
      "another rank",
      two,
      { inputShape: { x: [3, 3] } },
      "input 'x' has 1 dimensions besides the batch, and 2 were given. Give one size for each.",
    ],
  ])("%s", (_what, source, options, message) => {
    expect(refusal(source, options)).toEqual(["KERAS_INPUT_SHAPE", `Cannot set the input shape: ${message}`]);
  });

  it("and is taken by name for several inputs", () => {
    expect(loadKerasModel(two, { inputShape: { x: [3], w: [3] } }).outputs[0]?.shape).toEqual([null, 3]);
  });
});
