import { selectBackend } from "@remat/dispatch-hook/backends/node";
import * as tf from "@tensorflow/tfjs";
import { beforeAll, describe, expect, it } from "vitest";
import { disposeExample, trainableWeights, trainingStep } from "../training-step.js";
import { countFlops } from "./count-flops.js";
import { exampleNamed, exampleNames } from "./examples.js";

beforeAll(async () => {
  await selectBackend({ for: "training", backend: "wasm" });
});

describe.each(exampleNames)("%s, tiny, without a native backend", (name) => {
  it("takes a training step: a finite loss, a finite gradient for every trainable weight, at most 1 GFLOP", async () => {
    const build = await exampleNamed(name);
    const entered = new Set<string>();
    const path: string[] = [];
    const scope = <T>(scopeName: string, run: () => T): T => {
      path.push(scopeName);
      entered.add(path.join("."));
      const result = run();
      path.pop();
      return result;
    };
    const example = build({ tf, size: "tiny", scope });
    const weights = trainableWeights(example);
    let step: ReturnType<typeof trainingStep> | undefined;
    const flops = await countFlops(tf, () => {
      step = trainingStep(tf, example);
      return [step.loss];
    });
    const { loss, gradients } = step as unknown as ReturnType<typeof trainingStep>;

    expect(loss.shape).toEqual([]);
    expect(Number.isFinite(loss.dataSync()[0])).toBe(true);
    expect(Object.keys(weights).length).toBeGreaterThan(0);
    expect(Object.entries(gradients).map(([key, gradient]) => [key, gradient.shape])).toEqual(
      Object.entries(weights).map(([key, weight]) => [key, weight.shape]),
    );
    for (const gradient of Object.values(gradients)) expect(gradient.dataSync().every(Number.isFinite)).toBe(true);
    expect(flops).toBeLessThanOrEqual(1e9);
    expect(flops).toBeGreaterThan(0);
    if (example.parameters !== undefined) {
      const owners = Object.keys(example.parameters).map((parameter) => parameter.slice(0, parameter.lastIndexOf(".")));
      for (const owner of owners) expect(entered).toContain(owner);
    }
    disposeExample(tf, example);
    tf.dispose([loss, gradients]);
  });
});

describe("a step", () => {
  it.each(["transformer", "gpt-2"])("of %s on next tokens begins at the loss of a guess", async (name) => {
    const build = await exampleNamed(name);
    const example = build({ tf, size: "tiny", objective: "next-token" });
    const { loss } = trainingStep(tf, example) as { loss: tf.Scalar };
    // Off by 0.04 for GPT-2.
    expect(Math.abs(loss.dataSync()[0] - Math.log(256))).toBeLessThan(0.3);
    disposeExample(tf, example);
  });

  it("has a batch of the requested size", async () => {
    for (const name of ["foo", "lstm", "u-net", "shared-layers", "transformer"]) {
      const build = await exampleNamed(name);
      const example = build({ tf, size: "tiny", batch: 3 });
      expect((example.inputs as tf.Tensor).shape[0]).toBe(3);
      disposeExample(tf, example);
    }
  });

  it("leaves nothing behind but what stock tfjs-layers keeps", async () => {
    for (const name of ["foo", "transformer", "gpt-2", "u-net", "shared-layers"]) {
      const build = await exampleNamed(name);
      const before = tf.memory().numTensors;
      const example = build({ tf, size: "tiny" });
      const { loss, gradients } = trainingStep(tf, example);
      disposeExample(tf, example);
      tf.dispose([loss, gradients]);
      expect([name, tf.memory().numTensors - before]).toEqual([name, 0]);
    }
  });
});
