import * as tf from "@tensorflow/tfjs";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { currentFakeBackend, DataDependentError, fakeMode, fakeTensor } from "../../src/fake/index.js";
import { engineState } from "./engine-state.js";

beforeEach(async () => {
  await tf.setBackend("cpu");
  // Flags are evaluated when they are first asked for.
  tf.relu(1).dispose();
});

const tinyModel = (): tf.Sequential => {
  const model = tf.sequential();
  model.add(tf.layers.dense({ units: 3, inputShape: [4], kernelInitializer: "orthogonal" }));
  model.add(tf.layers.dropout({ rate: 0.5 }));
  return model;
};

const step = (): void => {
  const model = tinyModel();
  const optimizer = tf.train.adam(0.1);
  optimizer.minimize(() => (model.apply(tf.ones([2, 4]), { training: true }) as tf.Tensor).sum());
};

describe("afterwards everything is as before", () => {
  test("when the function returns", () => {
    const before = engineState();
    fakeMode(step);
    expect(engineState()).toEqual(before);
  });

  test("when it throws, in the middle of a gradient", () => {
    const before = engineState();
    const fail = (): tf.Scalar => {
      tinyModel().predict(tf.ones([2, 4]));
      throw new Error("on purpose");
    };
    const variable = (): tf.Variable => tf.variable(tf.scalar(1));
    expect(() => fakeMode(() => tf.variableGrads(fail, [variable()]))).toThrow("on purpose");
    expect(engineState()).toEqual(before);
  });

  test("when it is asynchronous", async () => {
    const before = engineState();
    const result = await fakeMode(async () => {
      step();
      await Promise.resolve();
      step();
      return tf.getBackend();
    });
    expect(result).toBe("fake-cpu");
    expect(engineState()).toEqual(before);
  });

  test("when it is asynchronous and rejects", async () => {
    const before = engineState();
    const rejected = fakeMode(async () => {
      step();
      await Promise.resolve();
      throw new Error("on purpose");
    });
    await expect(rejected).rejects.toThrow("on purpose");
    expect(engineState()).toEqual(before);
  });

  test("when modes are nested, on several backends", () => {
    const before = engineState();
    const seen = fakeMode(() => {
      step();
      const inner = fakeMode(
        () => [currentFakeBackend(), fakeMode(() => currentFakeBackend(), { backend: "tensorflow" })],
        { backend: "tensorflow" },
      );
      const caught = (() => {
        try {
          return fakeMode(() => {
            throw new Error("inside");
          });
        } catch (error) {
          return (error as Error).message;
        }
      })();
      step();
      return [...inner, caught, currentFakeBackend()];
    });
    expect(seen).toEqual(["tensorflow", "tensorflow", "inside", "cpu"]);
    expect(engineState()).toEqual(before);
  });

  test("when asynchronous modes overlap and end in the wrong order", async () => {
    const before = engineState();
    let endFirst = (): void => undefined;
    const first = fakeMode(() => new Promise<void>((resolve) => (endFirst = resolve)), { backend: "wasm" });
    let endSecond = (): void => undefined;
    const second = fakeMode(() => new Promise<void>((resolve) => (endSecond = resolve)));
    endFirst();
    await first;
    expect(currentFakeBackend()).toBe("cpu");
    endSecond();
    await second;
    expect(engineState()).toEqual(before);
  });

  test("when debug mode is on, whose checks would read every output", async () => {
    tf.env().set("DEBUG", true);
    try {
      const before = engineState();
      fakeMode(step);
      await Promise.resolve();
      expect(engineState()).toEqual(before);
    } finally {
      tf.env().set("DEBUG", false);
    }
  });

  test("when it changed the backend itself", async () => {
    await fakeMode(() => tf.setBackend("cpu"));
    expect(tf.getBackend()).toBe("cpu");
    expect(tf.tidy(() => tf.add(1, 2).dataSync()[0])).toBe(3);
  });
});

describe("tensors and variables", () => {
  test("that are part of the result outlive the mode, and can be used in the next one", () => {
    const before = tf.memory().numTensors;
    const model = fakeMode(() => {
      step();
      return tinyModel();
    });
    expect(tf.memory().numTensors).toBe(before + model.weights.length);
    expect(fakeMode(() => (model.predict(tf.ones([5, 4])) as tf.Tensor).shape)).toEqual([5, 3]);
    const { kernel, list } = fakeMode(() => ({
      kernel: model.getWeights()[0],
      list: [new Map([["a", tf.relu(tf.ones([2]))]])],
    }));
    expect(kernel.shape).toEqual([4, 3]);
    expect(() => list[0].get("a")?.dataSync()).toThrow(DataDependentError);
    list[0].get("a")?.dispose();
    model.dispose();
    expect(tf.memory().numTensors).toBe(before);
  });

  test("that are left behind can be kept", () => {
    const before = tf.memory().numTensors;
    let left: tf.Tensor | undefined;
    fakeMode(() => void (left = tf.ones([2])), { keepTensors: true });
    expect(left?.isDisposed).toBe(false);
    left?.dispose();
    expect(tf.memory().numTensors).toBe(before);
    fakeMode(() => void (left = tf.ones([2])));
    expect(left?.isDisposed).toBe(true);
  });

  test("of a long loop are not kept until the end", () => {
    const track = vi.fn();
    const before = tf.memory().numTensors;
    fakeMode(() => {
      for (let i = 0; i < 20_000; i++) tf.tidy(() => void tf.ones([2]));
      track(tf.memory().numTensors);
    });
    expect(track.mock.calls[0][0] - before).toBeLessThan(10);
  });

  test("that are fake cannot be used on a real backend", () => {
    const fake = fakeTensor([2, 2]);
    expect(() => tf.relu(fake)).toThrow(DataDependentError);
    expect(() => tf.relu(fake)).toThrow(/fakeTensor/);
    fake.dispose();
  });

  test("fakeTensor has the shape and dtype that were asked for", () => {
    const made = fakeMode(() =>
      [fakeTensor([2, 3]), fakeTensor([], "bool"), fakeTensor([4], "complex64"), fakeTensor([1], "string")].map(
        ({ shape, dtype }) => [shape, dtype],
      ),
    );
    expect(made).toEqual([
      [[2, 3], "float32"],
      [[], "bool"],
      [[4], "complex64"],
      [[1], "string"],
    ]);
  });
});

describe("real tensors", () => {
  test("may be used inside, and stay readable", () => {
    const real = tf.tensor1d([1, 2, 3]);
    const before = tf.memory();
    fakeMode(() => {
      const y = tf.relu(real);
      expect(y.shape).toEqual([3]);
      expect(() => y.dataSync()).toThrow(DataDependentError);
      expect([...real.reshape([3, 1]).clone().dataSync()]).toEqual([1, 2, 3]);
    });
    expect(tf.memory()).toEqual(before);
    expect([...real.dataSync()]).toEqual([1, 2, 3]);
    real.dispose();
    expect(tf.memory().numDataBuffers).toBe(before.numDataBuffers - 1);
  });

  test("in a model have their values again after a training step", () => {
    const model = tinyModel();
    const values = model.getWeights().map((weight) => [...weight.dataSync()]);
    const before = engineState();
    fakeMode(() => {
      const optimizer = tf.train.sgd(0.1);
      for (let i = 0; i < 2; i++)
        optimizer.minimize(() => (model.apply(tf.ones([2, 4]), { training: true }) as tf.Tensor).sum());
      expect(() => model.getWeights()[0].dataSync()).toThrow(DataDependentError);
    });
    expect(model.getWeights().map((weight) => [...weight.dataSync()])).toEqual(values);
    expect(engineState()).toEqual(before);
    const buffers = tf.memory().numDataBuffers;
    model.dispose();
    expect(tf.memory().numDataBuffers).toBe(buffers - 2);
  });

  test("in an optimizer and a stateful layer exist again, and continue from their values", () => {
    const train = (between: (step: () => void) => void) => {
      const model = tf.sequential({
        layers: [
          tf.layers.simpleRNN({
            units: 2,
            stateful: true,
            batchInputShape: [2, 2, 3],
            kernelInitializer: "ones",
            recurrentInitializer: "ones",
          }),
        ],
      });
      const optimizer = tf.train.adam(0.1);
      const x = tf.linspace(0, 1, 12).reshape([2, 2, 3]);
      const step = () => {
        optimizer.minimize(() => (model.apply(x, { training: true }) as tf.Tensor).square().sum());
      };
      for (let i = 0; i < 3; i++) {
        step();
        between(step);
      }
      model.predict(x);
      const values = model.getWeights().map((weight) => [...weight.dataSync()]);
      optimizer.dispose();
      model.dispose();
      return values;
    };
    const expected = train(() => {});
    const fakes = (step: () => void) => fakeMode(() => [step(), fakeMode(step, { keepTensors: true }), step()]);
    expect(train(fakes)).toEqual(expected);
    const failing = (step: () => void) => {
      const fails = () =>
        fakeMode(() => {
          step();
          throw new Error("in fake mode");
        });
      expect(fails).toThrow("in fake mode");
    };
    expect(train(failing)).toEqual(expected);
  });

  test("that are disposed of inside are gone, with their data", () => {
    const buffers = tf.memory().numDataBuffers;
    const variable = tf.tidy(() => tf.variable(tf.tensor1d([1, 2])));
    const plain = tf.tensor1d([1]);
    fakeMode(() => {
      variable.dispose();
      plain.dispose();
    });
    expect(tf.memory().numDataBuffers).toBe(buffers);
  });
});

test("a tensor of more bytes than can be counted is refused by kernel and shape, and leaves nothing behind", () => {
  const before = tf.memory();
  const make = (rows: number) => () => {
    const column = tf.zeros([rows, 1]);
    return tf.add(column, tf.zeros([1, rows])).size;
  };
  expect(() => fakeMode(() => tf.tidy(make(2 ** 26)))).toThrow(
    "Add makes float32[67108864,67108864], 1.80e+16 B, more than the limit of 2^53 - 1.",
  );
  expect(fakeMode(() => tf.tidy(make(2 ** 25)))).toBe(2 ** 50);
  expect(tf.memory()).toEqual(before);
});
