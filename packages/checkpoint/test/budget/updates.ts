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
 * The same in the budget that the errors ask for, from one byte up: each leaves everything as it was before its step. Also tells how many updates were
 * refused.
 */
export function stepsInWhatIsAskedFor(make: () => tf.Optimizer): { seen: unknown[]; refusedUpdates: number } {
  const { step, values, optimizer, end } = network(make);
  const seen: unknown[] = [];
  let budget = 2;
  let refusedUpdates = 0;
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
        const { op, smallestBudgetBytes } = error as BudgetError;
        expect(smallestBudgetBytes).toBeGreaterThan(budget);
        budget = smallestBudgetBytes;
        expect([values(), optimizer.iterations, counts()]).toEqual(before);
        const isUpdate = op.startsWith("the update of the weights by ");
        if (isUpdate) refusedUpdates++;
        const next = `Raise the budget to ${smallestBudgetBytes}B.* or more`;
        const advice = isUpdate
          ? `so no smaller budget is enough\\. ${next}`
          : `${next} \\(a later op may need more\\)`;
        expect((error as BudgetError).message).toMatch(new RegExp(advice));
      }
    }
  end();
  return { seen, refusedUpdates };
}
