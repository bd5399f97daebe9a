import { registeredVariables, withDispatchMode } from "@remat/dispatch-hook";
import { selectBackend } from "@remat/dispatch-hook/backends/node";
import { heldPeak } from "@remat/memory";
import { dailyRuns, nativeApp } from "@remat/testkit";
import { traceStep } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { forgetWarnings, hasWarned } from "../../src/budget/warning.js";
import { MemoryMeter, releaseEarly } from "../../src/index.js";
import { predictReleasedPeak } from "../../src/predict/index.js";
import { network, optimizers } from "../budget/updates.js";
import { inBackward, randomProgram, runProgram } from "./update-in-backward.js";

const nativeFolder = nativeApp();
const warning = "UPDATE_AFTER_BACKWARD";

beforeEach(() => forgetWarnings());
afterEach(() => tf.disposeVariables());

/** Three steps: losses and weights. */
function steps(make: () => tf.Optimizer) {
  const { step, values, end } = network(make);
  const seen = [1, 2, 3].map(() => [step(), values()]);
  end();
  return seen;
}

function equalsStock(): void {
  const programs = randomProgram(Object.keys(optimizers));
  fc.assert(
    fc.property(programs, (program) => {
      const make = optimizers[program.optimizer] as () => tf.Optimizer;
      const stock = runProgram(program, make);
      expect(inBackward(() => runProgram(program, make)).result).toEqual(stock);
    }),
    { numRuns: dailyRuns(150) },
  );
  expect(hasWarned(warning)).toBe(false);
}

describe("on cpu", () => {
  beforeAll(async () => void (await tf.setBackend("cpu")));

  test(
    "random programs have stock's losses, weights, slots and counts to the bit, and leave as much behind",
    equalsStock,
  );

  test.each(Object.entries(optimizers))("%s updates each weight in a turn of its own", (_, make) => {
    const stock = steps(make);
    const found = inBackward(() => steps(make));
    expect(found.result).toEqual(stock);
    // Three weights in three steps.
    expect(found.updates).toBe(9);
  });

  test.each(Object.entries(optimizers))("%s never has the gradients of all weights", (_, make) => {
    const peak = (updateInBackward: boolean) => {
      const count = 12;
      const weights = Array.from({ length: count }, (_, i) => tf.variable(tf.fill([32, 32], 0.01 * i), true, `w${i}`));
      const x = tf.ones([1, 32]);
      const optimizer = make();
      const loss = () => tf.mean(weights.reduce((h: tf.Tensor, w) => tf.tanh(tf.matMul(h, w)), x)) as tf.Scalar;
      const stop = releaseEarly({ updateInBackward });
      optimizer.minimize(loss);
      const meter = new MemoryMeter();
      withDispatchMode(meter, () => {
        // Slots, too.
        meter.count(registeredVariables());
        optimizer.minimize(loss);
      });
      stop();
      optimizer.dispose();
      tf.dispose([x, ...weights]);
      return meter.peakBytes;
    };
    // Of twelve gradients, only as many wait as an update has temporaries: six, and the one being updated.
    const gradientBytes = 32 * 32 * 4;
    expect(peak(false) - peak(true)).toBeGreaterThan(5 * gradientBytes);
  });

  test.each(Object.keys(optimizers).filter((name) => !name.includes(" ") && name !== "nesterov"))(
    "a step by %s holds to the byte what is predicted, and no more than with early release alone",
    async (optimizer) => {
      const build = ({ tf: given }: { tf: typeof tf }) =>
        given.sequential({
          layers: [48, 32, 64, 8].map((units, i) =>
            given.layers.dense({ units, activation: "tanh", ...(i === 0 && { inputShape: [16] }) }),
          ),
        });
      const options = { batch: 96, optimizer, backend: "cpu", loss: "mean" } as const;
      const predicted = await predictReleasedPeak(build, options, { updateInBackward: true });
      const stop = releaseEarly({ updateInBackward: true });
      const measured = heldPeak(await traceStep(build, options));
      stop();
      expect(measured).toEqual(predicted);
      expect(predicted.peakBytes).toBeLessThanOrEqual((await predictReleasedPeak(build, options)).peakBytes);
    },
  );

  test("fit does so too, with weights and history as in stock", async () => {
    const fit = async () => {
      const model = tf.sequential({
        layers: [1, 2, 3].map((seed) =>
          tf.layers.dense({
            units: 4,
            inputShape: [4],
            activation: "tanh",
            kernelInitializer: tf.initializers.glorotNormal({ seed }),
          }),
        ),
      });
      model.compile({ optimizer: "adam", loss: "meanSquaredError", metrics: ["mae"] });
      const x = tf.randomNormal([8, 4], 0, 1, "float32", 3);
      const { history } = await model.fit(x, x, { epochs: 2, batchSize: 4, shuffle: false, verbose: 0 });
      const weights = model.getWeights().map((weight) => [...weight.dataSync()]);
      model.optimizer.dispose();
      model.dispose();
      x.dispose();
      return { history, weights };
    };
    const stock = await fit();
    const stop = releaseEarly({ updateInBackward: true });
    expect(await fit()).toEqual(stock);
    stop();
    expect(hasWarned(warning)).toBe(false);
  });

  test("weights of gradients that a loop computes itself are updated after the backward pass, with a warning that explains why", () => {
    const twoSteps = () => {
      const { weights, loss, values, optimizer, end } = network(optimizers["adam"] as () => tf.Optimizer);
      const step = () =>
        tf.tidy(() => {
          const { grads } = tf.variableGrads(loss, [...weights]);
          const norm = tf.sqrt(tf.addN(Object.values(grads).map((grad) => tf.sum(tf.square(grad)))));
          optimizer.applyGradients(
            Object.fromEntries(Object.entries(grads).map(([name, grad]) => [name, tf.div(grad, norm)])),
          );
          return values();
        });
      const found = [step(), step()];
      end();
      return found;
    };
    const stock = twoSteps();
    const stop = releaseEarly({ updateInBackward: true });
    const found = twoSteps();
    stop();
    expect(hasWarned(warning)).toBe(true);
    expect(found).toEqual(stock);
    expect(found[1]).not.toEqual(found[0]);
  });

  class Clipping extends tf.AdamOptimizer {
    override applyGradients(grads: never): void {
      tf.tidy(() =>
        super.applyGradients(
          (Array.isArray(grads)
            ? (grads as { name: string; tensor: tf.Tensor }[]).map(({ name, tensor }) => ({
                name,
                tensor: tf.clipByValue(tensor, -0.01, 0.01),
              }))
            : Object.fromEntries(
                Object.entries(grads as tf.NamedTensorMap).map(([name, grad]) => [
                  name,
                  tf.clipByValue(grad, -0.01, 0.01),
                ]),
              )) as never,
        ),
      );
    }
  }
  class Inheriting extends tf.AdamOptimizer {}

  test("a class that inherits applyGradients is updated in the backward pass, and one with its own after it, by name", () => {
    const inheriting = () => new Inheriting(0.01, 0.9, 0.999);
    const stock = steps(inheriting);
    expect(inBackward(() => steps(inheriting))).toEqual({ result: stock, updates: 9 });
    expect(hasWarned(warning)).toBe(false);
    const clipping = () => new Clipping(0.01, 0.9, 0.999);
    const clipped = steps(clipping);
    expect(inBackward(() => steps(clipping)).result).toEqual(clipped);
    expect(hasWarned(warning)).toBe(true);
  });

  test("a gradient function that reaches for a weight that was updated is refused, and the engine goes on", () => {
    const w = tf.variable(tf.tensor1d([2, 3]), true, "reached");
    const v = tf.variable(tf.tensor1d([5, 7]), true, "given");
    const reaching = tf.customGrad(((p: tf.Tensor) => ({
      value: tf.mul(p, w),
      gradFunc: (dy: tf.Tensor) => tf.mul(dy, w),
    })) as never);
    // The gradient of w, by the product, is final before that of `reaching` runs.
    const loss = () => tf.sum(tf.mul(reaching(v), w)) as tf.Scalar;
    const optimizer = tf.train.sgd(0.1);
    const stop = releaseEarly({ updateInBackward: true });
    expect(() => optimizer.minimize(loss)).toThrow(/Multiply reads the weight 'reached'/);
    const { gradientDepth, activeTape, scopeStack } = tf.engine().state;
    expect([gradientDepth, activeTape, scopeStack.length]).toEqual([0, null, 0]);
    stop();
    optimizer.minimize(loss);
    tf.dispose([w, v]);
  });

  test("options that are none are refused", () => {
    expect(() => releaseEarly({ updateInBackward: 1 as never })).toThrow(/updateInBackward/);
  });
});

describe.runIf(nativeFolder !== undefined)("on tensorflow", () => {
  beforeAll(async () => {
    await selectBackend({ backend: "tensorflow", from: nativeFolder as string });
  });

  test(
    "random programs have stock's losses, weights, slots and counts to the bit, and leave as much behind",
    equalsStock,
  );
});
