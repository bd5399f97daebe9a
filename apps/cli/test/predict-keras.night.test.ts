import { fileURLToPath } from "node:url";
import { selectBackend } from "@remat/dispatch-hook/backends/node";
import { heldPeak } from "@remat/memory";
import { nativeApp } from "@remat/testkit";
import { traceFakeStep } from "@remat/tracer";
import { beforeAll, describe, expect, it } from "vitest";
import { measurePrediction } from "../../../packages/checkpoint/test/predict/measure-prediction.js";
import { loadModel } from "../src/load-model.js";
import { modelSource } from "../src/model-source.js";

const native = nativeApp();
const models = ["mobilenet_v1", "mobilenet_v2", "efficientnet_b0", "resnet50"];

/** As keras.applications has it, called by the program itself. */
async function holdsWhatIsPredicted(name: string, backend: "cpu" | "tensorflow", batch: number): Promise<void> {
  const path = fileURLToPath(new URL(`../../../examples/keras/${name}.model.json`, import.meta.url));
  const model = await loadModel({ ...modelSource(path), gives: "model", data: undefined });
  const { peakBytes } = heldPeak(await traceFakeStep(model, { predict: true, batch, backend }));
  expect(await measurePrediction(model, batch)).toBe(peakBytes);
}

describe("inference memory of models of keras.applications is predicted to the byte, on cpu", () => {
  beforeAll(() => selectBackend({ backend: "cpu" }));
  // A second or two; ResNet-50 takes ten.
  it.each(models.slice(0, 3))("%s", (name) => holdsWhatIsPredicted(name, "cpu", 1));
});

describe.runIf(native !== undefined)("and on tensorflow", () => {
  beforeAll(() => selectBackend({ backend: "tensorflow", from: native! }));
  it.each(models)("%s", (name) => holdsWhatIsPredicted(name, "tensorflow", 2));
});
