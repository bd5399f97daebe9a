import { AsyncLocalStorage } from "node:async_hooks";
import * as tf from "@tensorflow/tfjs";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { openMemoryBudget, releaseEarly } from "../src/index.js";

// Before Node 24 a context that somebody runs in slows every promise of the process down, for as long as it is not disabled: programs that read their data row by
// row make thousands of promises a step.

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
