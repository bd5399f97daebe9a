import { type OpDone, withDispatchMode } from "@remat/dispatch-hook";
import { dailyRuns } from "@remat/testkit";
import { checkedShare } from "@remat/testkit/checked-share";
import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { programs, runProgram } from "../../../dispatch-hook/test/programs.js";
import { Ledger } from "../../src/executor/ledger.js";
import { BudgetError, type BudgetExecution, MemoryMeter, measurePeakBytes, withMemoryBudget } from "../../src/index.js";

beforeAll(async () => {
  await tf.setBackend("cpu");
});
afterEach(() => tf.disposeVariables());

const withOnlineBudget = <T>(budget: number, fn: (execution: BudgetExecution) => T): T =>
  withMemoryBudget(budget, fn, { online: true });

/** The most bytes alive when an op is done: a kernel's own scratch is outside of every budget. */
class PeakBetweenOps extends MemoryMeter {
  most = 0;
  opDone(_op: OpDone): void {
    this.most = Math.max(this.most, this.liveBytes);
  }
}

function watched<T>(run: () => T): { result: T; most: number } {
  const meter = new PeakBetweenOps();
  const result = withDispatchMode(meter, run);
  return { result, most: meter.most };
}

const depth = 24;
const each = 64 * 16 * 4;

function chain(): { loss: () => tf.Scalar; x: tf.Tensor; w: tf.Variable } {
  const x = tf.ones([64, 16]);
  const w = tf.variable(tf.randomNormal([16, 16], 0, 0.3, "float32", 5), true, "w");
  const loss = () => {
    let h: tf.Tensor = x;
    for (let i = 0; i < depth; i++) h = tf.tanh(tf.matMul(h as tf.Tensor2D, w as unknown as tf.Tensor2D));
    return tf.mean(h) as tf.Scalar;
  };
  return { loss, x, w };
}

function gradientOf(loss: () => tf.Scalar): number[] {
  const { value, grads } = tf.variableGrads(loss);
  const values = [...value.dataSync(), ...grads.w.dataSync()];
  tf.dispose([value, grads as never]);
  return values;
}

describe("a chain", () => {
  test.each([22, 16, 12, 10, 9])("in the room of %i activations: the same gradient, never a byte more", (room) => {
    const { loss, x } = chain();
    const expected = gradientOf(loss);
    const before = tf.memory();
    const budget = room * each + 4096;
    const { result, most } = watched(() =>
      withOnlineBudget(budget, (execution) => [gradientOf(loss), { ...execution.lastStep }] as const),
    );
    const [found, pass] = result;
    expect(found).toEqual(expected);
    expect(most).toBeLessThanOrEqual(budget);
    expect(pass?.recomputedOps).toBeGreaterThan(0);
    expect(tf.memory().numTensors).toBe(before.numTensors);
    expect(tf.memory().numBytes).toBe(before.numBytes);
    x.dispose();
  });

  test("a step of many ops looks at all buffers for few of those that it evicts", () => {
    const looks = vi.spyOn(Ledger.prototype, "allBuffers", "get");
    const x = tf.ones([4, 4]);
    const w = tf.variable(tf.randomNormal([4, 4], 0, 0.3, "float32", 5), true, "w");
    const loss = () => {
      let h: tf.Tensor = x;
      for (let i = 0; i < 600; i++) h = tf.tanh(tf.mul(h, w));
      return tf.mean(h) as tf.Scalar;
    };
    try {
      const expected = gradientOf(loss);
      const [found, pass] = withOnlineBudget(360 * 64, (execution) => [gradientOf(loss), { ...execution.lastStep }]);
      expect(found).toEqual(expected);
      expect(pass.evictions).toBeGreaterThan(500);
      expect(looks.mock.calls.length).toBeLessThan((pass.evictions as number) / 10);
    } finally {
      looks.mockRestore();
      x.dispose();
    }
  });

  test("with room enough nothing is recomputed", () => {
    const { loss, x } = chain();
    const pass = withOnlineBudget(1e9, (execution) => {
      gradientOf(loss);
      return execution.lastStep;
    });
    expect(pass?.recomputedOps).toBe(0);
    x.dispose();
  });

  test("a budget below what one op needs is refused, with what would do; nothing is left behind", () => {
    const { loss, x } = chain();
    const before = tf.memory();
    let error: unknown;
    try {
      withOnlineBudget(2 * each, () => gradientOf(loss));
    } catch (caught) {
      error = caught;
    }
    expect(error).toBeInstanceOf(BudgetError);
    const { op, smallestBudgetBytes, message } = error as BudgetError;
    expect(op).toMatch(/^(BatchMatMul|Tanh|Multiply) of /);
    expect(smallestBudgetBytes).toBeGreaterThan(2 * each);
    expect(message).toMatch(/Raise the budget to \d+B( \([\d.]+ KiB\))? or more, pass a plan/);
    expect(withOnlineBudget(smallestBudgetBytes, () => gradientOf(loss))).toHaveLength(1 + 256);
    expect(tf.memory()).toEqual(before);
    expect(tf.memory()).toEqual(before);
    expect(gradientOf(loss)).toHaveLength(1 + 256);
    x.dispose();
  });
});

test("after a pass the budget is kept, too: what needs more than there is, is refused", () => {
  const { loss, x } = chain();
  const budget = 12 * each + 4096;
  const { most } = watched(() =>
    withOnlineBudget(budget, () => {
      gradientOf(loss);
      const kept: tf.Tensor[] = [];
      const fill = () => {
        for (let i = 0; i < 100; i++) kept.push(tf.tanh(x));
      };
      expect(fill).toThrow(BudgetError);
      expect(kept.length).toBeGreaterThan(1);
      tf.dispose(kept);
      expect(() => tf.zeros([64, 16 * 20])).toThrow(/data of 80 KiB that JavaScript makes needs/);
      expect(gradientOf(loss)).toHaveLength(1 + 256);
    }),
  );
  expect(most).toBeLessThanOrEqual(budget);
  x.dispose();
});

test("tensors of a pass that user code keeps exist after it even without enough memory, and that pass and the next are rejected", () => {
  const { loss, x } = chain();
  const kept: tf.Tensor[] = [];
  const keeping = () => {
    const w = tf.engine().registeredVariables.w;
    tf.tidy(() => {
      let h: tf.Tensor = x;
      for (let i = 0; i < 12; i++) kept.push(tf.keep((h = tf.tanh(tf.matMul(h as tf.Tensor2D, w as never)))));
    });
    return loss();
  };
  gradientOf(keeping);
  const expected = kept.map((tensor) => [...tensor.dataSync()]);
  tf.dispose(kept.splice(0));
  withOnlineBudget(11 * each, () => {
    expect(() => tf.variableGrads(keeping)).toThrow(BudgetError);
    expect(kept.map((tensor) => [...tensor.dataSync()])).toEqual(expected);
    expect(() => tf.tanh(x)).toThrow(BudgetError);
    tf.dispose(kept);
    tf.dispose(tf.tanh(x));
  });
  x.dispose();
});

test("steps that differ from each other, with masks drawn each time, within one budget", () => {
  const w = tf.variable(tf.randomNormal([16, 16], 0, 0.3, "float32", 5), true, "w");
  const x = tf.ones([64, 16]);
  const optimizer = tf.train.adam(0.01);
  const step = (length: number) =>
    optimizer.minimize(() => {
      let h: tf.Tensor = x;
      for (let i = 0; i < length; i++)
        h = tf.dropout(tf.relu(tf.matMul(h as tf.Tensor2D, w as unknown as tf.Tensor2D)), 0.25, undefined, i);
      return tf.mean(h) as tf.Scalar;
    });
  const start = w.clone();
  const lengths = [3, 12, 5, 9];
  for (const length of lengths) step(length);
  const expected = [...w.dataSync()];
  w.assign(start as tf.Variable);
  optimizer.dispose();
  const again = tf.train.adam(0.01);
  const budget = 22 * each;
  const { most } = watched(() =>
    withOnlineBudget(budget, () => {
      for (const length of lengths)
        again.minimize(() => {
          let h: tf.Tensor = x;
          for (let i = 0; i < length; i++)
            h = tf.dropout(tf.relu(tf.matMul(h as tf.Tensor2D, w as unknown as tf.Tensor2D)), 0.25, undefined, i);
          return tf.mean(h) as tf.Scalar;
        });
    }),
  );
  expect([...w.dataSync()]).toEqual(expected);
  expect(most).toBeLessThanOrEqual(budget);
  again.dispose();
});

test("asynchronous training under a budget", async () => {
  const build = () => {
    const kernelInitializer = (seed: number) => tf.initializers.glorotUniform({ seed });
    const model = tf.sequential();
    for (let i = 0; i < 6; i++)
      model.add(
        tf.layers.dense({ units: 32, activation: "tanh", inputShape: [32], kernelInitializer: kernelInitializer(i) }),
      );
    model.compile({ optimizer: tf.train.sgd(0.1), loss: "meanSquaredError" });
    return model;
  };
  const x = tf.tidy(() => tf.linspace(-1, 1, 256 * 32).reshape([256, 32]));
  const train = async (model: tf.Sequential) => {
    const { history } = await model.fit(x, x, { epochs: 2, batchSize: 128, shuffle: false, verbose: 0 });
    return [history.loss, ...model.getWeights().map((weight) => [...weight.dataSync()])];
  };
  const stock = build();
  const { result: expected, peakBytes } = await measurePeakBytes(() => train(stock));
  const model = build();
  const { result } = await measurePeakBytes(() => withOnlineBudget(0.75 * peakBytes, () => train(model)));
  expect(result).toEqual(expected);
  tf.dispose([x]);
  stock.dispose();
  model.dispose();
});

test("any program, at any budget that works, has stock's values, gradients, weights and counts to the bit", () => {
  const given = checkedShare();
  fc.assert(
    fc.property(programs, fc.double({ min: 0.3, max: 1, noNaN: true }), (program, fraction) => {
      const meter = new MemoryMeter();
      const expected = withDispatchMode(meter, () => runProgram(program));
      const budget = Math.max(1, Math.floor(fraction * meter.peakBytes));
      let found: unknown;
      let refusal: unknown;
      try {
        found = withOnlineBudget(budget, () => runProgram(program));
      } catch (error) {
        refusal = error;
        expect(error).toBeInstanceOf(BudgetError);
        tf.disposeVariables();
      }
      if (given(refusal === undefined)) expect(found).toEqual(expected);
    }),
    { numRuns: dailyRuns(150) },
  );
});
