import { type BackendName, selectBackend } from "@remat/dispatch-hook/backends/node";
import { heldPeak } from "@remat/memory";
import { planCheckpointing } from "@remat/planner";
import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { stepToPlan, traceFakeStep } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";
import { beforeAll, describe, expect, it } from "vitest";
import { predictReleasedPeak } from "../../src/predict/index.js";
import { exampleNamed, exampleNames } from "../training.js";

beforeAll(() => selectBackend({ for: "training", backend: "cpu" }));

const { layers } = tf;

/** ReLUs, whose gradient takes several arrays on native, and vectors that are tiled, which tfjs's gradient slices one by one. */
function attention(): tf.LayersModel {
  const x = tf.input({ shape: [16, 8] });
  const [q, k, v] = [0, 1, 2].map(() => layers.dense({ units: 8 }).apply(x) as tf.SymbolicTensor);
  const scores = layers
    .activation({ activation: "softmax" })
    .apply(layers.dot({ axes: [2, 2] }).apply([q, k])) as tf.SymbolicTensor;
  const read = layers.dot({ axes: [2, 1] }).apply([scores, v]) as tf.SymbolicTensor;
  const normal = layers.layerNormalization().apply(layers.add().apply([x, read])) as tf.SymbolicTensor;
  const wide = layers.dense({ units: 64, activation: "relu" }).apply(normal);
  const y = layers.dense({ units: 8 }).apply(layers.dropout({ rate: 0.1 }).apply(wide)) as tf.SymbolicTensor;
  return tf.model({ inputs: x, outputs: layers.globalAveragePooling1d({}).apply(y) as tf.SymbolicTensor });
}

const few = ["attention", "foo", "lstm", "u-net"];
const models: readonly (readonly [BackendName, readonly string[]])[] = [
  ["tensorflow", ["attention", ...exampleNames]],
  ["wasm", few],
  ["cpu", few],
];

describe.each(models)("within what early release holds on %s", (backend, names) => {
  it.each(names)("a plan of %s recomputes nothing and holds no more", async (name) => {
    const exported = name === "attention" ? attention : await exampleNamed(name);
    const request = { size: "tiny", batch: 8, optimizer: "adam", backend, name } as const;
    const released = await predictReleasedPeak(exported, request);
    const trace = priceTrace(await traceFakeStep(exported, { ...request, ...stepToPlan }), deviceSpec("cpu"));
    const { point } = await planCheckpointing(trace, { budgetBytes: released.peakBytes, iterations: 200 });
    expect(point?.overhead).toBe(0);
    expect(point?.peakBytes).toBeLessThanOrEqual(released.peakBytes);
    expect(released.peakBytes).toBeLessThan(heldPeak(trace).peakBytes);
  });
});
