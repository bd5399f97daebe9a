import * as tf from "@tensorflow/tfjs";
import { afterEach, describe, expect, it } from "vitest";
import { loadKerasModel, Normalization, registerKerasLayers } from "../src/index.js";
import { suppliedLayers } from "../src/supplied-layers.js";
import { smallModel, topologyText } from "./topologies.js";

const { classNameMap } = tf.serialization.SerializationMap.getMap();
const stock = { ...classNameMap };

afterEach(() => {
  for (const name of Object.keys(classNameMap)) if (!(name in stock)) delete classNameMap[name];
});

function entries(): [string, unknown][] {
  return Object.entries(classNameMap);
}

describe("tfjs-layers' table of classes", () => {
  it("is the same after loading, entry by entry", () => {
    const before = entries();
    loadKerasModel(topologyText("efficientnet_b0"));
    loadKerasModel(topologyText("mobilenet_v1"));
    expect(entries().map(([name]) => name)).toEqual(before.map(([name]) => name));
    entries().forEach(([, registration], i) => expect(registration).toBe(before[i]?.[1]));
  });

  it("is the same after a refusal in the middle of building", () => {
    const before = entries();
    const source = smallModel(
      ["x", "InputLayer", { batch_input_shape: [null, 4] }],
      ["c", "Conv2D", { filters: 1, kernel_size: 3 }, ["x"]],
    );
    expect(() => loadKerasModel(source)).toThrow("Layer 'c' (Conv2D)");
    expect(entries()).toEqual(before);
  });

  it("gets Normalization when asked, once, whereupon tfjs-layers itself knows it", async () => {
    expect(registerKerasLayers()).toEqual(suppliedLayers);
    const registered = classNameMap["Normalization"];
    expect(registerKerasLayers()).toEqual([]);
    expect(classNameMap["Normalization"]).toBe(registered);
    const file = JSON.parse(topologyText("efficientnet_b0")) as { modelTopology: object };
    const model = await tf.models.modelFromJSON(file.modelTopology as never);
    expect(model.countParams()).toBe(5_330_571);
  });

  it("keeps the user's own class of a supplied name, and uses it", () => {
    class Normalization extends tf.layers.Layer {
      static readonly className = "Normalization";
    }
    tf.serialization.registerClass(Normalization as never);
    expect(registerKerasLayers()).not.toContain("Normalization");
    const model = loadKerasModel(topologyText("efficientnet_b0"));
    expect(model.getLayer("normalization")).toBeInstanceOf(Normalization);
  });

  it("answers a user's custom layer, at the top and inside a Sequential", () => {
    class Twice extends tf.layers.Layer {
      static readonly className = "Twice";
      override call(x: tf.Tensor | tf.Tensor[]): tf.Tensor {
        return tf.mul(Array.isArray(x) ? (x[0] as tf.Tensor) : x, 2);
      }
    }
    tf.serialization.registerClass(Twice as never);
    const twice = (name: string) => ({ class_name: "Twice", config: { name, batch_input_shape: [null, 2] } });
    const model = loadKerasModel({
      class_name: "Sequential",
      config: [twice("a"), { class_name: "Sequential", config: { name: "s", layers: [twice("b")] } }],
    });
    expect(Array.from((model.predict(tf.tensor2d([[1, 2]])) as tf.Tensor).dataSync())).toEqual([4, 8]);
  });
});

describe("loading", () => {
  it("leaves no trace on the layers it watched", () => {
    const model = loadKerasModel(topologyText("mobilenet_v1"));
    for (const layer of model.layers) expect(Object.hasOwn(layer, "apply")).toBe(false);
  });
});

describe("Normalization", () => {
  it("writes a configuration that makes it again", () => {
    const layer = new Normalization({ axis: [1, 3], mean: [1, 2], variance: [4, 9], invert: true });
    const config = layer.getConfig();
    expect(new Normalization(config as never).getConfig()).toEqual(config);
    expect(config).toMatchObject({ axis: [1, 3], mean: [1, 2], variance: [4, 9], invert: true });
  });

  it("divides by no less than Keras' epsilon", () => {
    const layer = new Normalization({ mean: [1], variance: [0] });
    expect((layer.apply(tf.tensor2d([[2]])) as tf.Tensor).dataSync()[0]).toBeCloseTo(1e7, -1);
  });

  it("names itself and the next step when made wrongly", () => {
    expect(() => new Normalization({ name: "n", mean: [1] })).toThrow(
      "Normalization 'n' has a mean without a variance. Set both or neither.",
    );
    const layer = new Normalization({ name: "n", axis: 1 });
    expect(() => layer.apply(tf.input({ shape: [null, 3] }))).toThrow(
      "Normalization 'n' keeps axis 1 of an input [null, null, 3]",
    );
  });
});
