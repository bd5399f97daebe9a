import * as tf from "@tensorflow/tfjs";
import { strToU8, zipSync } from "fflate";
import { afterEach, describe, expect, it } from "vitest";
import { loadKerasModel } from "../src/index.js";
import { topologyText } from "./topologies.js";

afterEach(() => tf.disposeVariables());

/** Layers, parameters and trainable parameters as keras.applications has them; the output of a small input. */
const applications = [
  { file: "resnet50", layers: 177, parameters: 25_636_712, trainable: 25_583_592, size: 32 },
  { file: "mobilenet_v1", layers: 91, parameters: 4_253_864, trainable: 4_231_976, size: 32 },
  { file: "mobilenet_v2", layers: 156, parameters: 3_538_984, trainable: 3_504_872, size: 32 },
  { file: "efficientnet_b0", layers: 240, parameters: 5_330_571, trainable: 5_288_548, size: 32 },
];

describe("loadKerasModel", () => {
  it.each(applications)("understands $file whole", ({ file, ...expected }) => {
    const model = loadKerasModel(topologyText(file));
    const { size: _size, ...counts } = expected;
    expect({
      layers: model.layers.length,
      parameters: model.countParams(),
      trainable: model.trainableWeights.reduce(
        (sum, weight) => sum + tf.util.sizeFromShape(weight.shape as number[]),
        0,
      ),
    }).toEqual(counts);
    expect(model.outputs[0]?.shape).toEqual([null, 1000]);
  });

  it.each(applications)("runs $file forward on a small input", ({ file, size }) => {
    const model = loadKerasModel(topologyText(file), { inputShape: [size, size, 3], name: "small" });
    const output = tf.tidy(() => model.predict(tf.zeros([2, size, size, 3])) as tf.Tensor);
    expect(model.name).toBe("small");
    expect(output.shape).toEqual([2, 1000]);
    const sums = Array.from(output.sum(1).dataSync());
    for (const sum of sums) expect(sum).toBeCloseTo(1, 4);
  });

  it.each(applications)("keeps the name, class and order of every layer of $file", ({ file: name }) => {
    const text = topologyText(name);
    const model = loadKerasModel(text);
    const file = JSON.parse(text) as {
      modelTopology: { config: { name: string; layers: { name: string; class_name: string }[] } };
    };
    expect(model.layers.map((layer) => [layer.name, layer.getClassName()])).toEqual(
      file.modelTopology.config.layers.map((layer) => [layer.name, layer.class_name]),
    );
    expect(model.name).toBe(file.modelTopology.config.name);
  });

  it("takes text or a parsed object, with or without the wrappers round the model, and changes none", () => {
    const text = topologyText("mobilenet_v1");
    const file = JSON.parse(text) as { modelTopology: object };
    const forms = [
      text,
      file,
      file.modelTopology,
      {
        modelTopology: { model_config: file.modelTopology, training_config: {} },
        weightsManifest: [{ paths: ["absent.bin"], weights: [] }],
      },
      { model_config: JSON.stringify(file.modelTopology) },
    ];
    const before = structuredClone(forms);
    expect(forms.map((form) => loadKerasModel(form).countParams())).toEqual(forms.map(() => 4_253_864));
    expect(forms).toEqual(before);
  });

  it.each([
    ["Policy", "mixed_float16"],
    ["DTypePolicy", "bfloat16"],
  ])("computes in float32 what has another float by a %s, and says so", (className, dtype) => {
    const policy = { class_name: className, config: { name: dtype } };
    const input = { class_name: "InputLayer", config: { name: "x", batch_input_shape: [null, 4], dtype: "float64" } };
    const dense = { class_name: "Dense", config: { name: "d", units: 2, dtype: policy } };
    const notes: string[] = [];
    const file = { class_name: "Sequential", config: { name: "m", layers: [input, dense] } };
    const model = loadKerasModel(file, { onNote: (note) => notes.push(note) });
    expect([...model.inputs, ...model.weights].map((each) => each.dtype)).toEqual(["float32", "float32", "float32"]);
    expect(notes).toEqual([`float64 and ${dtype} of Keras are computed in float32, the only float dtype of tfjs`]);
  });

  it("takes the bytes of a file, and of a .keras archive", () => {
    const text = topologyText("mobilenet_v1");
    const { modelTopology } = JSON.parse(text) as { modelTopology: object };
    const archive = zipSync({
      "metadata.json": strToU8("{}"),
      "config.json": strToU8(JSON.stringify(modelTopology)),
      "model.weights.h5": new Uint8Array(100),
    });
    const counts = [strToU8(text), archive].map((bytes) => loadKerasModel(bytes).countParams());
    expect(counts).toEqual([4_253_864, 4_253_864]);
  });

  it("understands MobileNet's pooling, which stock tfjs-layers misreads", async () => {
    const file = JSON.parse(topologyText("mobilenet_v1")) as { modelTopology: object };
    await expect(tf.models.modelFromJSON(file.modelTopology as never)).rejects.toThrow(
      "Input 0 is incompatible with layer conv_preds",
    );
    const shapes = loadKerasModel(file)
      .layers.slice(-5)
      .map((layer) => [layer.name, layer.outputShape]);
    expect(shapes).toEqual([
      ["global_average_pooling2d", [null, 1, 1, 1024]],
      ["dropout", [null, 1, 1, 1024]],
      ["conv_preds", [null, 1, 1, 1000]],
      ["reshape_2", [null, 1000]],
      ["predictions", [null, 1000]],
    ]);
  });

  it("gives weights values of their initializers", () => {
    const model = loadKerasModel(topologyText("mobilenet_v1"), { inputShape: [32, 32, 3] });
    const [kernel] = model.getLayer("conv1").getWeights();
    const values = Array.from((kernel as tf.Tensor).dataSync());
    // Glorot's uniform distribution for a 3×3 kernel of 3 to 32 channels.
    const bound = Math.sqrt(6 / (9 * 3 + 9 * 32));
    expect(Math.max(...values.map(Math.abs))).toBeLessThanOrEqual(bound);
    expect(new Set(values).size).toBeGreaterThan(800);
  });

  it("trains EfficientNet's layers: a real gradient for every trainable weight of the stem", () => {
    const model = loadKerasModel(topologyText("efficientnet_b0"), { inputShape: [32, 32, 3] });
    const { grads } = tf.variableGrads(() =>
      (model.apply(tf.randomUniform([2, 32, 32, 3]), { training: true }) as tf.Tensor).square().sum().asScalar(),
    );
    expect(Object.keys(grads)).toHaveLength(model.trainableWeights.length);
    for (const gradient of Object.values(grads)) expect(gradient.isFinite().all().dataSync()[0]).toBe(1);
  });

  it("saves and loads again what it has loaded", () => {
    const model = loadKerasModel(topologyText("efficientnet_b0"));
    const again = loadKerasModel(model.toJSON(undefined, false) as object);
    expect(again.countParams()).toBe(5_330_571);
    expect(again.layers.map((layer) => [layer.name, layer.outputShape])).toEqual(
      model.layers.map((layer) => [layer.name, layer.outputShape]),
    );
  });
});
