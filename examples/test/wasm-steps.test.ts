import { type BackendName, selectBackend } from "@remat/dispatch-hook/backends/node";
import * as tf from "@tensorflow/tfjs";
import { afterEach, describe, expect, it, vi } from "vitest";
import { disposeExample, trainingStep } from "../training-step.js";
import { exampleNamed, exampleNames } from "./examples.js";

afterEach(() => {
  vi.restoreAllMocks();
});

/** Loss and gradients of a step on a backend; weights are drawn from a seed. */
async function step(name: string, backend: BackendName): Promise<readonly Float32Array[]> {
  await selectBackend({ for: "training", backend });
  let state = 1;
  vi.spyOn(Math, "random").mockImplementation(() => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  });
  const example = (await exampleNamed(name))({ tf, size: "tiny", objective: "next-token" });
  const { loss, gradients } = trainingStep(tf, example);
  const values = [loss, ...Object.values(gradients)].map((tensor) => tensor.dataSync() as Float32Array);
  disposeExample(tf, example);
  return values;
}

const lengthOf = (values: Float32Array): number => Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));

describe("on the wasm backend, tiny", () => {
  it.each(exampleNames)("%s takes a training step", async (name) => {
    const [loss, ...gradients] = await step(name, "wasm");
    expect(loss[0]).toBeGreaterThan(0.1);
    for (const values of gradients) {
      expect(values.every(Number.isFinite)).toBe(true);
      expect(values.some((value) => Math.abs(value) > 1e-12)).toBe(true);
    }
  });

  it.each(["u-net", "lstm", "transformer"])("the step of %s is that of cpu, but for rounding", async (name) => {
    const [onCpu, onWasm] = [await step(name, "cpu"), await step(name, "wasm")];
    const off = onWasm.map((values, i) => lengthOf(values.map((value, j) => value - onCpu[i][j])) / lengthOf(onCpu[i]));
    expect(Math.max(...off)).toBeLessThan(1e-5); // 1.0e-6
  });
});
