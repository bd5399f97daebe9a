import { AsyncLocalStorage } from "node:async_hooks";
import * as tf from "@tensorflow/tfjs";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { openMemoryBudget, releaseEarly } from "../src/index.js";

// Before Node 24, an async context in use slows down every promise of the process until it is disabled. Programs that
// read their data row by row create thousands of promises per step.

beforeAll(async () => {
  await tf.setBackend("cpu");
});

afterEach(() => {
  vi.restoreAllMocks();
});

const ways: Readonly<Record<string, () => () => void>> = {
  "early release": () => releaseEarly(),
  "a budget of 100%": () => openMemoryBudget("100%").close,
  "a budget of bytes": () => openMemoryBudget("8MB").close,
};

describe("no promise is tracked while a program trains", () => {
  test.each(Object.keys(ways))("with %s", async (name) => {
    const run = vi.spyOn(AsyncLocalStorage.prototype, "run");
    const close = ways[name]();
    const model = tf.sequential({
      layers: [
        tf.layers.dense({ units: 64, inputShape: [32], activation: "relu" }),
        tf.layers.dropout({ rate: 0.2, seed: 3 }),
        tf.layers.dense({ units: 1 }),
      ],
    });
    model.compile({ optimizer: "adam", loss: "meanSquaredError" });
    const [x, y] = [tf.ones([256, 32]), tf.ones([256, 1])];
    try {
      await model.fit(x, y, { epochs: 6, batchSize: 128, verbose: 0 });
    } finally {
      close();
      model.dispose();
      tf.dispose([x, y]);
    }
    expect(run).not.toHaveBeenCalled();
  });
});
