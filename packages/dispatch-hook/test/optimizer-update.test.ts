import * as tf from "@tensorflow/tfjs";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { fakeMode } from "../../fake/src/index.js";
import { type DispatchMode, withDispatchMode, withModeAlone } from "../src/index.js";

beforeAll(async () => {
  await tf.setBackend("cpu");
});
afterEach(() => tf.disposeVariables());

const kinds: Readonly<Record<string, () => tf.Optimizer>> = {
  sgd: () => tf.train.sgd(0.5),
  // Overrides applyGradients of SGDOptimizer.
  momentum: () => tf.train.momentum(0.5, 0.9),
  adam: () => tf.train.adam(0.5),
};

describe.each(Object.entries(kinds))("an update by %s", (_, make) => {
  test("is told of once, with the gradients, before anything has changed", () => {
    const w = tf.variable(tf.tensor1d([1, 2]), true, "w");
    const told: unknown[] = [];
    const mode: DispatchMode = {
      optimizerUpdateComing: (optimizer, gradients) => {
        const named = gradients as tf.NamedTensorMap;
        told.push([optimizer, Object.keys(named), [...w.dataSync()], [...named.w.dataSync()]]);
      },
      optimizerStepDone: () => told.push("done"),
    };
    const optimizer = make();
    withDispatchMode(mode, () => {
      optimizer.minimize(() => tf.square(w).sum().asScalar());
      expect(told).toEqual([[optimizer, ["w"], [1, 2], [2, 4]], "done"]);
      tf.tidy(() => optimizer.applyGradients({ w: tf.tensor1d([1, 1]) }));
      expect(told).toHaveLength(4);
    });
    optimizer.dispose();
  });

  test("does not begin if a mode throws; the next one is told of again", () => {
    const w = tf.variable(tf.tensor1d([1, 2]), true, "w");
    const optimizer = make();
    let count = 0;
    const mode: DispatchMode = {
      optimizerUpdateComing: () => {
        if (++count === 1) throw new Error("no room");
      },
    };
    withDispatchMode(mode, () => {
      const step = () => tf.tidy(() => void optimizer.minimize(() => tf.square(w).sum().asScalar()));
      expect(step).toThrow("no room");
      expect([...w.dataSync()]).toEqual([1, 2]);
      expect(optimizer.iterations).toBe(0);
      step();
      expect(count).toBe(2);
      expect([...w.dataSync()]).not.toEqual([1, 2]);
    });
    optimizer.dispose();
  });
});

describe("a mode alone", () => {
  const seen = (log: string[]): DispatchMode => ({ opDone: ({ kernel }) => void log.push(kernel) });

  test("sees what runs, and others do not, until it is over, after an exception too", () => {
    const [outer, alone]: string[][] = [[], []];
    const x = tf.tensor1d([1, 2]);
    const before = tf.memory();
    withDispatchMode(seen(outer), () => {
      tf.dispose(tf.neg(x));
      const fail = () =>
        fakeMode(() => {
          tf.square(x);
          throw new Error("broken off");
        });
      expect(() => withModeAlone(seen(alone), fail)).toThrow("broken off");
      expect(withModeAlone(seen(alone), () => fakeMode(() => tf.exp(x).shape))).toEqual([2]);
      tf.dispose(tf.abs(x));
    });
    expect([outer, alone]).toEqual([
      ["Neg", "Abs"],
      ["Square", "Exp"],
    ]);
    expect(tf.memory()).toEqual(before);
  });

  test("is a mode as any other where none is open", () => {
    const log: string[] = [];
    tf.dispose(withModeAlone(seen(log), () => tf.neg(1)));
    tf.dispose(tf.neg(1));
    expect(log).toEqual(["Neg"]);
  });
});
