import * as tf from "@tensorflow/tfjs";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { fakeMode } from "../src/fake/index.js";
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

describe("a mode that stands before updates", () => {
  class Clipping extends tf.AdamOptimizer {
    override applyGradients(gradients: Record<string, tf.Variable>): void {
      tf.tidy(() => super.applyGradients({ w: tf.clipByValue(gradients.w, -1, 1) } as never));
    }
  }
  const told = (run: (optimizer: tf.Optimizer, w: tf.Variable) => void, optimizer: tf.Optimizer) => {
    const w = tf.variable(tf.tensor1d([1, 2]), true, "w");
    const calls: unknown[] = [];
    const mode: DispatchMode = {
      applyGradients: ({ isTfjs, ownsGradients, ...call }, next) => {
        expect(call.optimizer).toBe(optimizer);
        calls.push({ isTfjs, ownsGradients, values: [...(call.gradients as tf.NamedTensorMap).w.dataSync()] });
        next();
        calls.push([...w.dataSync()].every((value, i) => value === [1, 2][i]) ? "not updated" : "updated");
      },
    };
    withDispatchMode(mode, () => run(optimizer, w));
    optimizer.dispose();
    w.dispose();
    return calls;
  };
  const minimize = (optimizer: tf.Optimizer, w: tf.Variable) =>
    void optimizer.minimize(() => tf.square(w).sum().asScalar());
  const apply = (optimizer: tf.Optimizer) => tf.tidy(() => void optimizer.applyGradients({ w: tf.tensor1d([2, 4]) }));

  test("knows whose they are, and who reads the gradients afterwards", () => {
    const values = [2, 4];
    const stock = { isTfjs: true, values };
    expect(told(minimize, tf.train.adam(0.5))).toEqual([{ ...stock, ownsGradients: true }, "updated"]);
    expect(told(apply, tf.train.adam(0.5))).toEqual([{ ...stock, ownsGradients: false }, "updated"]);
    expect(told(minimize, new Clipping(0.5, 0.9, 0.999))).toEqual([
      { isTfjs: false, ownsGradients: true, values },
      { isTfjs: true, ownsGradients: false, values: [1, 1] },
      "updated",
      "updated",
    ]);
  });

  test("can refuse them, and leaves nothing to run", () => {
    const w = tf.variable(tf.tensor1d([1, 2]), true, "w");
    const optimizer = tf.train.adam(0.5);
    withDispatchMode({ applyGradients: () => {} }, () => minimize(optimizer, w));
    expect([...w.dataSync()]).toEqual([1, 2]);
    expect(optimizer.iterations).toBe(0);
    optimizer.dispose();
  });
});
