import "@tensorflow/tfjs-backend-cpu";
import * as tf from "@tensorflow/tfjs-core";
import { layers, sequential } from "@tensorflow/tfjs-layers";
import { beforeAll, expect, test } from "vitest";
import {
  applyPlan,
  checkpoint,
  checkpointLayers,
  openMemoryBudget,
  releaseEarly,
  withMemoryBudget,
} from "../src/index.js";

beforeAll(() => tf.setBackend("cpu"));

const model = () => sequential({ layers: [layers.dense({ units: 1, inputShape: [1], name: "block_1" })] });
const nothing = (): void => {};

test.each<readonly [string, () => unknown, string]>([
  [
    "withMemoryBudget",
    () => withMemoryBudget("60%", nothing, { stricct: false } as never),
    'withMemoryBudget\'s options: unknown option; expected planningMs, online, strict or plan, found "stricct".',
  ],
  ["openMemoryBudget", () => openMemoryBudget("60%", { planing: 1 } as never), 'found "planing".'],
  [
    "releaseEarly",
    () => releaseEarly({ updateinbackward: true } as never),
    'releaseEarly\'s options: unknown option; expected updateInBackward, found "updateinbackward".',
  ],
  [
    "applyPlan",
    () => applyPlan([], { onMismatch: "error" } as never),
    "applyPlan's option 'onMismatch': expected refuse or store; found \"error\".",
  ],
  ["checkpoint", () => checkpoint(3 as never), "checkpoint's fn: expected a function of tensors"],
  ["checkpoint", () => checkpoint((x: tf.Tensor) => x, "matmuls" as never), "checkpoint's policy: expected a function"],
  [
    "checkpointLayers",
    () => checkpointLayers({} as never, "block_*"),
    "checkpointLayers's model: expected a model of layers",
  ],
  [
    "checkpointLayers",
    () => checkpointLayers(model(), "block_*", { policy: "x" as never }),
    "checkpointLayers's option 'policy': expected a function",
  ],
])("%s refuses what it does not know, before anything runs", (_, call, message) => {
  expect(call).toThrow(expect.objectContaining({ code: "ARGUMENT", message: expect.stringContaining(message) }));
});

test("a budget of 1 is all that stock holds, as 1 is on the command line", () => {
  const w = tf.variable(tf.ones([8, 8]));
  const optimizer = tf.train.sgd(0.1);
  const step = (): void => void optimizer.minimize(() => tf.mean(tf.matMul(w, w)));
  const before = w.dataSync().slice();
  withMemoryBudget(1, () => {
    for (let i = 0; i < 3; i++) step();
  });
  expect(w.dataSync()).not.toEqual(before);
  tf.dispose([w]);
});
