import * as tf from "@tensorflow/tfjs";
import { beforeEach, expect, test } from "vitest";
import { type Layer, ModTracker, type Part } from "../src/index.js";
import { partsOf } from "../src/parts-of.js";
import { nestedModel } from "./models.js";

beforeEach(async () => {
  await tf.setBackend("cpu");
  tf.disposeVariables();
});

/** Own properties of everything that tracking touches, but for values that running changes. */
function snapshot(model: Layer): unknown[] {
  const layers = new Set<Part>();
  const add = (layer: Part) => {
    layers.add(layer);
    const inner = (layer as { model?: Layer }).model;
    if (inner !== undefined) layers.add(inner);
    for (const [, part] of partsOf(layer)) add(part);
  };
  add(model);
  return [...layers].map((layer) =>
    Reflect.ownKeys(layer).map((key) => {
      const { value, ...descriptor } = Object.getOwnPropertyDescriptor(layer, key) as PropertyDescriptor;
      return [key, descriptor, typeof value === "object" ? "" : value];
    }),
  );
}

function makeModel(): tf.Sequential {
  const model = tf.sequential({
    name: "m",
    layers: [
      tf.layers.bidirectional({
        layer: tf.layers.lstm({ units: 2, seed: 1 } as never) as never,
        mergeMode: "ave",
        inputShape: [3, 2],
      }),
      tf.layers.batchNormalization(),
      tf.layers.dense({ units: 1, kernelInitializer: tf.initializers.glorotNormal({ seed: 2 }) }),
    ],
  });
  model.compile({ optimizer: "adam", loss: "meanSquaredError", metrics: ["mae"] });
  return model;
}

test("closing restores every instance, whatever ran, and so does a second tracker's closing, in any order", async () => {
  const model = makeModel();
  const before = snapshot(model);
  const [first, second] = [new ModTracker(), new ModTracker()];
  first.track(model);
  second.track(model);
  expect(snapshot(model)).not.toEqual(before);
  await first.run(() => second.run(() => model.trainOnBatch(tf.ones([2, 3, 2]), tf.ones([2, 1]))));
  second.close();
  first.close();
  expect(snapshot(model)).toEqual(before);
});

test("a test function that was made while tracking stays usable", () => {
  const model = makeModel();
  const tracker = new ModTracker();
  tracker.track(model);
  const evaluate = () => (model.evaluate(tf.ones([2, 3, 2]), tf.ones([2, 1])) as tf.Scalar[])[0].dataSync()[0];
  const tracked = tracker.run(evaluate);
  tracker.close();
  expect(evaluate()).toBe(tracked);
});

test("results, losses, weights, memory and configuration are those of an untracked model", async () => {
  const run = async (around: (model: tf.Sequential, step: () => Promise<unknown>) => Promise<unknown>) => {
    tf.disposeVariables();
    const model = makeModel();
    const weights = model.getWeights().map((w, i) => tf.sin(tf.add(tf.range(0, w.size).reshape(w.shape), i)));
    model.setWeights(weights);
    const before = tf.memory();
    const x = tf.sin(tf.range(0, 12)).reshape([2, 3, 2]);
    const y = tf.ones([2, 1]);
    const seen: unknown[] = [];
    await around(model, async () => {
      for (let i = 0; i < 2; i++) seen.push(await model.trainOnBatch(x, y));
      tf.tidy(() => seen.push((model.predict(x) as tf.Tensor).dataSync()));
    });
    seen.push(model.getWeights().map((w) => w.dataSync()));
    seen.push(model.toJSON(null, false));
    seen.push(tf.memory().numTensors - before.numTensors, tf.memory().numBytes - before.numBytes);
    return JSON.stringify(seen)
      .replace(/(_[A-Z]\w*?)\d+"/g, '$1"')
      .replace(/("name":"[^"]*?)\d+"/g, '$1"');
  };
  const stock = await run((_, step) => step());
  const tracked = await run(async (model, step) => {
    const tracker = new ModTracker();
    tracker.track(model);
    await tracker.run(step);
    tracker.close();
  });
  expect(tracked).toBe(stock);
});

test("an exception in a layer ends every call, and the tracker goes on", () => {
  const model = nestedModel();
  const tracker = new ModTracker();
  tracker.track(model);
  const layer = model.getLayer("widen");
  const { call } = layer;
  layer.call = () => {
    throw new Error("in a layer");
  };
  expect(() => tracker.run(() => model.predict(tf.ones([1, 2])))).toThrow("in a layer");
  expect([...tracker.parents]).toEqual(["Global"]);
  layer.call = call;
  const seen: string[] = [];
  tracker.registerUserHooks({ preForward: ({ fqn }) => seen.push(fqn) });
  tracker.run(() => tf.tidy(() => void model.predict(tf.ones([1, 2]))));
  expect(seen[0]).toBe("net");
  tracker.close();
});

test("a model without a graph is refused with what to do", () => {
  const model = tf.sequential({ name: "late", layers: [] });
  expect(() => new ModTracker().track(model)).toThrow(/'late' is not built.*inputShape/);
});
