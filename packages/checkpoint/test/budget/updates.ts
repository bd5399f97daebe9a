import { type OpDone, withDispatchMode } from "@remat/dispatch-hook";
import * as tf from "@tensorflow/tfjs";
import { expect } from "vitest";
import { BudgetError, MemoryMeter, withMemoryBudget } from "../../src/index.js";
import { seeded } from "../training.js";
import { counts } from "../users/ways.js";

export const optimizers: Readonly<Record<string, () => tf.Optimizer>> = {
  sgd: () => tf.train.sgd(0.1),
  momentum: () => tf.train.momentum(0.1, 0.9),
  nesterov: () => tf.train.momentum(0.1, 0.9, true),
  adagrad: () => tf.train.adagrad(0.1),
  adadelta: () => tf.train.adadelta(),
  adam: () => tf.train.adam(0.01),
  adamax: () => tf.train.adamax(0.01),
  rmsprop: () => tf.train.rmsprop(0.01),
  "centered rmsprop": () => tf.train.rmsprop(0.01, 0.9, 0.1, 1e-8, true),
};

/** Weights that are large beside the activations, so that their update is what binds. */
export function network(make: () => tf.Optimizer) {
  const weights = seeded(3, () =>
    [8, 24, 16].map((width, i) => tf.tidy(() => tf.variable(tf.randomNormal([width, [24, 16, 4][i]]), true, `w${i}`))),
  );
  const x = seeded(4, () => tf.randomNormal([2, 8]));
  const optimizer = make();
  const loss = () => tf.mean(weights.reduce((h: tf.Tensor, w) => tf.tanh(tf.matMul(h, w)), x)) as tf.Scalar;
  const step = (): number => tf.tidy(() => (optimizer.minimize(loss, true) as tf.Scalar).dataSync()[0]);
  const values = () => weights.map((weight) => [...weight.dataSync()]);
  const end = () => {
    optimizer.dispose();
    tf.dispose([x, weights] as never);
  };
  return { weights, loss, step, values, optimizer, end };
}

/** The most bytes alive when an op is done. */
export class PeakBetweenOps extends MemoryMeter {
  most = 0;
  opDone(_op: OpDone): void {
    this.most = Math.max(this.most, this.liveBytes);
  }
}

/** Results of three unmodified steps. */
export function stockSteps(make: () => tf.Optimizer): unknown[] {
  const { step, values, end } = network(make);
  const seen = [1, 2, 3].map(() => [step(), values()]);
  end();
  return seen;
}

/**
 * The same in the budget that the errors name, from `budget` bytes up. Each error leaves everything as it was before its
 * step. Also returns the ops that the errors name.
 */
export function stepsInNamedBudget(make: () => tf.Optimizer, budget: number): { seen: unknown[]; rejected: string[] } {
  const { step, values, optimizer, end } = network(make);
  const seen: unknown[] = [];
  const rejected: string[] = [];
  for (let i = 0; i < 3; i++)
    for (;;) {
      const before = [values(), optimizer.iterations, counts()];
      const meter = new PeakBetweenOps();
      try {
        const loss = withDispatchMode(meter, () => withMemoryBudget(budget, () => step(), { online: true }));
        seen.push([loss, values()]);
        expect(meter.most).toBeLessThanOrEqual(budget);
        break;
      } catch (error) {
        expect(error).toBeInstanceOf(BudgetError);
        const { op, smallestBudgetBytes, message } = error as BudgetError;
        expect(smallestBudgetBytes).toBeGreaterThan(budget);
        budget = smallestBudgetBytes;
        expect([values(), optimizer.iterations, counts()]).toEqual(before);
        rejected.push(op);
        const isUpdate = op.startsWith("the update of the weights by ");
        const advice = `Raise the budget to ${smallestBudgetBytes}B.* or more`;
        expect(message).toMatch(new RegExp(isUpdate ? `so no smaller budget is enough\\. ${advice}` : `${advice}, `));
      }
    }
  end();
  return { seen, rejected };
}

/** Peak memory of the first forward and backward pass in bytes. */
export function peakOfPass(make: () => tf.Optimizer): number {
  const { loss, weights, end } = network(make);
  const pass = () => tf.tidy(() => void tf.variableGrads(loss, weights));
  const peakBytes = withMemoryBudget(
    1e9,
    (execution) => {
      pass();
      return execution.lastStep?.peakBytes as number;
    },
    { online: true },
  );
  end();
  return peakBytes;
}
