import * as tf from "@tensorflow/tfjs";
import { afterEach, describe, expect, it } from "vitest";
import { classSkeleton } from "../src/class-skeleton.js";
import { loadKerasModel, type OwnLayerClass } from "../src/index.js";
import { smallModel } from "./topologies.js";

afterEach(() => tf.disposeVariables());

const file = (className: string) =>
  smallModel(
    ["x", "InputLayer", { batch_input_shape: [null, 3] }],
    ["own", className, { trainable: true, dtype: "float32", scale_by: 2.5, mode: "at_once", sizes: [1, 2] }, ["x"]],
    ["d", "Dense", { units: 2, kernel_initializer: "ones" }, ["own"]],
  );

class Scaled extends tf.layers.Layer {
  static readonly className: string = "Scaled";
  readonly scaleBy: number;
  constructor(config: { readonly scaleBy: number }) {
    super(config as never);
    this.scaleBy = config.scaleBy;
  }
  override call(inputs: tf.Tensor | tf.Tensor[]): tf.Tensor {
    return tf.mul([inputs].flat()[0] as tf.Tensor, this.scaleBy);
  }
}
const scaled = Scaled as unknown as OwnLayerClass;
const answer = (model: tf.LayersModel): number[] =>
  Array.from((model.predict(tf.ones([1, 3])) as tf.Tensor).dataSync());

describe("layers of the user's own", () => {
  it.each(["Scaled", "Custom>Scaled", "my.package>Scaled"])("are made where the file has the class %s", (className) => {
    expect(answer(loadKerasModel(file(className), { layers: [scaled] }))).toEqual([7.5, 7.5]);
  });

  it("take the place of others, for one loading", () => {
    class Dense extends Scaled {
      static override readonly className: string = "Dense";
      constructor(config: object) {
        super({ ...config, scaleBy: 10 });
      }
    }
    const { classNameMap } = tf.serialization.SerializationMap.getMap();
    const before = Object.entries(classNameMap);
    expect(answer(loadKerasModel(file("Scaled"), { layers: [scaled, Dense as never] }))).toEqual([25, 25, 25]);
    expect(Object.entries(classNameMap)).toEqual(before);
    expect(() => loadKerasModel(file("Scaled"))).toThrow("it has no such class");
  });

  it.each<[string, unknown, RegExp]>([
    ["a name", "Scaled", /is of type string: expected a class that extends tf\.layers\.Layer/],
    ["a function", () => 3, /is the function/],
    ["a class without a name", class extends tf.layers.Layer {}, /with a `static className`/],
    [
      "a class of something else",
      class Scaled {
        static readonly className = "Scaled";
      },
      /is the function 'Scaled'/,
    ],
    ["nothing", undefined, /is of type undefined/],
  ])("are none if %s is given", (_what, given, message) => {
    const load = () => loadKerasModel(file("Scaled"), { layers: [given as OwnLayerClass] });
    expect(load).toThrow(message);
    expect(load).toThrow(expect.objectContaining({ code: "KERAS_LAYERS" }));
  });
});

describe("the skeleton of a class that nobody has", () => {
  it("is a module whose class loads, and is saved with what the file says", async () => {
    let message = "";
    try {
      loadKerasModel(file("my.package>PatchMix"));
    } catch (error) {
      message = (error as Error).message;
    }
    const skeleton = message.slice(message.indexOf("\n\n") + 2, message.lastIndexOf("\n\n"));
    expect(skeleton).toBe(classSkeleton("PatchMix", { scale_by: 2.5, mode: "at_once", sizes: [1, 2] }));
    expect(skeleton).toContain("this.scaleBy = config.scaleBy; // 2.5 in the file");
    const module = (await import(`data:text/javascript,${encodeURIComponent(skeleton)}`)) as {
      default: (context: { tf: typeof tf }) => OwnLayerClass[];
    };
    const model = loadKerasModel(file("PatchMix"), { layers: module.default({ tf }) });
    expect(answer(model)).toEqual([3, 3]);
    expect(model.getLayer("own").getConfig()).toMatchObject({ scaleBy: 2.5, mode: "atOnce", sizes: [1, 2] });
  });

  it.each(["not a name", "a\n\n</script>", "1st", ""])("is not printed for a class called %j", (className) => {
    expect(classSkeleton(className, {})).toBeUndefined();
  });

  it("leaves out fields that no class can have", () => {
    expect(classSkeleton("A", { "x;process.exit()": 1, ok: "*/ \u2028" })).not.toMatch(/process|\u2028/);
  });
});
