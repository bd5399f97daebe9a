import { type DispatchMode, withDispatchMode } from "@remat/dispatch-hook";
import { heldPeak } from "@remat/memory";
import { unrecomputedPeakBytes } from "@remat/memory/sequence";
import { Phase } from "@remat/trace";
import { TraceRecorder, traceFakeStep, traceStep } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { MemoryMeter, releaseEarly } from "../../src/index.js";
import { releaseEarly as releaseUnrehearsed } from "../../src/release/index.js";
import { network, optimizers } from "../budget/updates.js";

beforeAll(async () => {
  await tf.setBackend("cpu");
});
afterEach(() => tf.disposeVariables());

function early<T>(run: () => T, release: () => () => void = releaseEarly): T {
  const stop = release();
  try {
    return run();
  } finally {
    stop();
  }
}

/** Three steps: losses, weights, the kernels of the updates, and what is there after each. */
function steps(make: () => tf.Optimizer) {
  const { step, values, end } = network(make);
  const before = tf.memory();
  const added = () => {
    const { numTensors, numBytes, numDataBuffers } = tf.memory();
    return [numTensors - before.numTensors, numBytes - before.numBytes, numDataBuffers - before.numDataBuffers];
  };
  const kernels: string[] = [];
  const watch: DispatchMode = {
    opDone: ({ kernel, phase, outputs }) =>
      void (phase === Phase.optimizer && kernels.push(`${kernel} ${outputs.map(({ shape }) => shape.join("x"))}`)),
  };
  const seen = withDispatchMode(watch, () => [1, 2, 3].map(() => [step(), values(), added()]));
  end();
  return { seen, kernels };
}

describe.each(Object.entries(optimizers))("updates by %s that are released early", (_, make) => {
  test("run the same kernels in the same order, with the same bits, and leave the same behind", () => {
    const stock = steps(make);
    expect(early(() => steps(make))).toEqual(stock);
  });

  test("hold to the byte what the stock step's trace says that they will", () => {
    const stock = network(make);
    stock.step();
    const recorder = new TraceRecorder();
    withDispatchMode(recorder, () => stock.step());
    const trace = recorder.trace();
    stock.end();

    const { step, end } = network(make);
    step();
    const recorded = new TraceRecorder();
    early(() => withDispatchMode(recorded, () => step()));
    end();
    expect(unrecomputedPeakBytes(trace)).toBe(heldPeak(recorded.trace()).peakBytes);
  });
});

describe.each(Object.entries(optimizers))("updates by %s that are released early without a rehearsal", (_, make) => {
  test("run the same kernels in the same order, with the same bits, and leave the same behind", () => {
    const stock = steps(make);
    expect(early(() => steps(make), releaseUnrehearsed)).toEqual(stock);
  });

  test("hold what those with one do, from the third on", () => {
    const thirdStep = (release: () => () => void): number =>
      early(() => {
        const { step, end } = network(make);
        step();
        step();
        const meter = new MemoryMeter();
        withDispatchMode(meter, () => step());
        end();
        return meter.peakBytes;
      }, release);
    expect(thirdStep(releaseUnrehearsed)).toBe(thirdStep(releaseEarly));
  });
});

/** Three steps of a loop of one's own, which clips gradients by their norm between taking and applying them. */
function clippedSteps(make: () => tf.Optimizer, apply: (optimizer: tf.Optimizer, grads: tf.NamedTensorMap) => void) {
  const { weights, loss, values, optimizer, end } = network(make);
  const kernels: string[] = [];
  const meter = new MemoryMeter();
  const watch: DispatchMode = {
    opDone: ({ kernel, phase }) => void (phase === Phase.optimizer && kernels.push(kernel)),
  };
  const step = () =>
    tf.tidy(() => {
      const { value, grads } = tf.variableGrads(loss, [...weights]);
      const norm = tf.sqrt(tf.addN(Object.values(grads).map((grad) => tf.sum(tf.square(grad)))));
      const scale = tf.div(0.1, tf.maximum(norm, 0.1));
      apply(optimizer, Object.fromEntries(Object.entries(grads).map(([name, grad]) => [name, tf.mul(grad, scale)])));
      return [...value.dataSync()] as never;
    });
  const seen = withDispatchMode(watch, () => withDispatchMode(meter, () => [1, 2, 3].map(() => [step(), values()])));
  end();
  return { result: { seen, kernels }, peakBytes: meter.peakBytes };
}

describe.each(Object.entries(optimizers))("gradients that a loop clips and applies by %s", (name, make) => {
  /** A user's subclass that clips gradients in the optimizer. */
  const extended = () => {
    const optimizer = make();
    const { prototype } = class extends (optimizer.constructor as typeof tf.AdamOptimizer) {
      override applyGradients(grads: Record<string, tf.Variable>): void {
        tf.tidy(() => super.applyGradients(mapped(grads, (grad) => tf.clipByValue(grad, -0.05, 0.05)) as never));
      }
    };
    return Object.setPrototypeOf(optimizer, prototype) as tf.Optimizer;
  };
  const mapped = (grads: tf.NamedTensorMap, change: (grad: tf.Tensor) => tf.Tensor) =>
    Object.fromEntries(Object.entries(grads).map(([name, grad]) => [name, change(grad)]));

  test.each([
    ["a record", make, (optimizer, grads) => optimizer.applyGradients(grads)],
    [
      "a list",
      make,
      (optimizer, grads) => optimizer.applyGradients(Object.entries(grads).map(([name, tensor]) => ({ name, tensor }))),
    ],
    ["a record, by a class that extends it", extended, (optimizer, grads) => optimizer.applyGradients(grads)],
  ] as [string, () => tf.Optimizer, (optimizer: tf.Optimizer, grads: tf.NamedTensorMap) => void][])(
    "as %s: the same kernels and bits, with the temporaries of a weight freed as it is updated",
    (_name, makeIt, apply) => {
      const stock = clippedSteps(makeIt, apply);
      const released = early(() => clippedSteps(makeIt, apply));
      expect(released.result).toEqual(stock.result);
      // SGD's own update has a tidy for each weight.
      if (name === "sgd") expect(released.peakBytes).toBe(stock.peakBytes);
      else expect(released.peakBytes).toBeLessThan(stock.peakBytes);
    },
  );
});

/** Weights of many equal sizes, the update of which is the peak. */
const chain = (weights: number) => ({
  build: ({ tf: given }: { tf: typeof tf }) => {
    const model = given.sequential();
    for (let i = 0; i < weights; i++)
      model.add(
        given.layers.dense({ units: 32, useBias: false, activation: "tanh", ...(i === 0 && { inputShape: [32] }) }),
      );
    return model;
  },
  weightBytes: weights * 32 * 32 * 4,
  largestBytes: 32 * 32 * 4,
});

test("Adam's update holds fifteen times the weights in stock, and early the temporaries of one weight", async () => {
  const { build, weightBytes, largestBytes } = chain(12);
  const options = { batch: 1, optimizer: "adam", backend: "cpu", loss: "mean" } as const;
  const stock = heldPeak(await traceFakeStep(build, options));
  expect(stock.peakBytes / weightBytes).toBeGreaterThan(15);
  const stop = releaseEarly();
  const held = heldPeak(await traceFakeStep(build, options));
  stop();
  // Weights, two slots, gradients; old and new values of a weight and its slots, and what is computed of them.
  const bound = 4 * weightBytes + 8 * largestBytes;
  expect(held.peakBytes).toBeLessThan(bound);
  expect(unrecomputedPeakBytes(await traceFakeStep(build, options))).toBe(held.peakBytes);
});

test.each(Object.keys(optimizers).filter((name) => !name.includes(" ") && name !== "nesterov"))(
  "a step in fake mode by %s is, event by event, the real one, the first and later ones",
  async (optimizer) => {
    const { build } = chain(3);
    for (const stepsBefore of [0, 1]) {
      const options = { batch: 2, optimizer, backend: "cpu", stepsBefore, loss: "mean" } as const;
      const stop = releaseEarly();
      const fake = await traceFakeStep(build, options);
      const real = await traceStep(build, options);
      stop();
      const { events, storages, ops } = fake;
      const list = (values: ArrayLike<number>, count: number) => Array.from(values).slice(0, count);
      expect(list(events.kind, events.count)).toEqual(list(real.events.kind, real.events.count));
      expect(list(events.subject, events.count)).toEqual(list(real.events.subject, real.events.count));
      expect(list(storages.bytes, storages.count)).toEqual(list(real.storages.bytes, real.storages.count));
      expect(ops.count).toBe(real.ops.count);
    }
  },
);

describe("tensors that other code may read stay:", () => {
  const weight = () => tf.variable(tf.tensor1d([1, 2]), true, "w");

  test("gradients that a caller applies", () => {
    const w = weight();
    const optimizer = tf.train.adam(0.1);
    const grads = { w: tf.tensor1d([3, 4]) };
    early(() => {
      for (let i = 0; i < 3; i++) optimizer.applyGradients(grads as never);
    });
    expect([...grads.w.dataSync()]).toEqual([3, 4]);
    optimizer.dispose();
    tf.dispose([grads, w]);
  });

  test("gradients that an optimizer reads when the one that it extends has applied them, all else freed", () => {
    const norms: number[] = [];
    class Logging extends tf.AdamOptimizer {
      override applyGradients(gradients: Record<string, tf.Variable>): void {
        const clipped = Object.fromEntries(
          Object.entries(gradients).map(([name, gradient]) => [name, tf.clipByValue(gradient, -1, 1)]),
        );
        super.applyGradients(clipped as never);
        norms.push(...tf.tidy(() => tf.norm(clipped.w).dataSync()), ...tf.tidy(() => tf.norm(gradients.w).dataSync()));
        tf.dispose(clipped);
      }
    }
    const trained = () => {
      const w = weight();
      const optimizer = new Logging(0.1, 0.9, 0.999);
      for (let i = 0; i < 3; i++) optimizer.minimize(() => tf.square(w).sum().asScalar());
      const values = [...w.dataSync()];
      optimizer.dispose();
      w.dispose();
      return values;
    };
    const stock = trained();
    const read = norms.splice(0);
    expect(early(trained)).toEqual(stock);
    expect(norms).toEqual(read);
  });

  test("gradients that are shown to a function in the place of one object's method", () => {
    const w = weight();
    const optimizer = tf.train.adam(0.1);
    const apply = optimizer.applyGradients;
    const shown: number[][] = [];
    optimizer.applyGradients = (grads) => {
      apply.call(optimizer, grads);
      shown.push([...(grads as tf.NamedTensorMap).w.dataSync()]);
    };
    early(() => {
      for (let i = 0; i < 2; i++) optimizer.minimize(() => tf.sum(w).asScalar());
    });
    expect(shown).toEqual([
      [1, 1],
      [1, 1],
    ]);
    optimizer.dispose();
    w.dispose();
  });

  test("whatever an optimizer of somebody's own holds", () => {
    class Own extends tf.Optimizer {
      static readonly className = "OwnUpdate";
      private count = 0;
      applyGradients(gradients: tf.NamedTensorMap): void {
        tf.tidy(() => {
          const deltas = Object.entries(gradients).map(([name, gradient]) => {
            const variable = tf.engine().registeredVariables[name];
            const delta = tf.mul(gradient, -0.1);
            variable.assign(tf.add(variable, delta));
            return delta;
          });
          // Not read by earlier updates.
          if (++this.count === 3) norms.push(...tf.norm(deltas[0]).dataSync());
        });
      }
      getConfig(): tf.serialization.ConfigDict {
        return {};
      }
    }
    const norms: number[] = [];
    const trained = () => {
      const w = weight();
      const optimizer = new Own();
      for (let i = 0; i < 4; i++) optimizer.minimize(() => tf.square(w).sum().asScalar());
      const values = [...w.dataSync()];
      w.dispose();
      return values;
    };
    const stock = trained();
    const read = norms.splice(0);
    expect(early(trained)).toEqual(stock);
    expect(norms).toEqual(read);
  });

  test("a gradient that is a weight, or that two weights have", () => {
    const trained = () => {
      const [a, b] = [1, 2].map((value) => tf.variable(tf.tensor1d([value, value]), true));
      const sum = (x: tf.Tensor, y: tf.Tensor) => ({ value: tf.add(x, y), gradFunc: (dy: tf.Tensor) => [dy, dy] });
      const shared = tf.customGrad(sum as never) as (x: tf.Tensor, y: tf.Tensor) => tf.Tensor;
      const optimizer = tf.train.adam(0.1);
      for (let i = 0; i < 3; i++) optimizer.minimize(() => shared(a, b).sum().asScalar());
      const values = [[...a.dataSync()], [...b.dataSync()]];
      optimizer.dispose();
      tf.dispose([a, b]);
      return values;
    };
    const stock = trained();
    expect(early(trained)).toEqual(stock);
  });
});

test("switches that are turned, slots that are set and gradients that are missing are new kinds of updates", () => {
  const trained = () => {
    const [a, b] = [1, 2].map((value) => tf.variable(tf.tensor1d([value, value]), true, `v${value}`));
    const optimizer = tf.train.momentum(0.1, 0.9);
    const loss = (useB: boolean) => () => (useB ? tf.mul(a, b) : tf.square(a)).sum().asScalar();
    const step = (useB: boolean) => optimizer.minimize(loss(useB), false, [a, b]);
    step(true);
    step(true);
    (optimizer as unknown as { useNesterov: boolean }).useNesterov = true;
    step(true);
    step(true);
    const values = [[...a.dataSync()], [...b.dataSync()]];
    optimizer.dispose();
    tf.dispose([a, b]);
    return values;
  };
  const stock = trained();
  expect(early(trained)).toEqual(stock);
});

test("variables that are made after an update have the names that they have in stock", () => {
  const named = () => {
    const w = tf.variable(tf.tensor1d([1, 2]));
    const optimizer = tf.train.adam(0.1);
    optimizer.minimize(() => tf.square(w).sum().asScalar());
    const after = tf.variable(tf.scalar(1));
    const distance = Number(after.name) - Number(w.name);
    optimizer.dispose();
    tf.dispose([w, after]);
    return distance;
  };
  const stock = named();
  expect(early(named)).toBe(stock);
});

test("an update that fails fails as in stock, and the next one is released early again", () => {
  const w = tf.variable(tf.tensor1d([1, 2]), true, "w");
  const optimizer = tf.train.adam(0.1);
  const failing = () => optimizer.applyGradients({ w: tf.tensor2d([[1, 2, 3]]) as never });
  const message = (run: () => void): string => {
    try {
      run();
    } catch (error) {
      return (error as Error).message;
    }
    return "";
  };
  const stock = message(failing);
  expect(stock).not.toBe("");
  expect(early(() => message(failing))).toBe(stock);
  const step = () => tf.tidy(() => void optimizer.minimize(() => tf.square(w).sum().asScalar()));
  early(() => expect(step).not.toThrow());
  optimizer.dispose();
});
