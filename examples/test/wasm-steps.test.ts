import * as tf from "@tensorflow/tfjs";
import "@tensorflow/tfjs-backend-wasm";
import { beforeAll, describe, expect, it } from "vitest";
import { disposeExample, trainingStep } from "../training-step.js";
import { exampleNamed } from "./examples.js";

beforeAll(async () => {
  await tf.setBackend("wasm");
});

describe("on the wasm backend, tiny", () => {
  // wasm has no kernel for the gradient of a convolution's filter.
  it.each(["foo", "transformer", "gpt-2", "gpt-3", "lstm", "shared-layers"])(
    "%s takes a training step",
    async (name) => {
      expect(tf.getBackend()).toBe("wasm");
      const build = await exampleNamed(name);
      const example = build({ tf, size: "tiny", objective: "next-token" });
      const { loss, gradients } = trainingStep(tf, example);
      expect(loss.dataSync()[0]).toBeGreaterThan(0.1);
      for (const gradient of Object.values(gradients)) {
        const values = gradient.dataSync();
        expect(values.every(Number.isFinite)).toBe(true);
        expect(values.some((value) => Math.abs(value) > 1e-12)).toBe(true);
      }
      disposeExample(tf, example);
    },
  );
});
