import {
  type DispatchMode,
  type OpDone,
  openDispatchMode,
  TraceRecorder,
  withDispatchMode,
} from "@remat/dispatch-hook";
import { Phase } from "@remat/trace";
import * as tf from "@tensorflow/tfjs";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { BudgetError, MemoryMeter, withMemoryBudget } from "../../src/index.js";
import { seeded } from "../training.js";
import { counts } from "../users/ways.js";

beforeAll(async () => {
  await tf.setBackend("cpu");
});
afterEach(() => tf.disposeVariables());

const optimizers: Readonly<Record<string, () => tf.Optimizer>> = {
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
function network(make: () => tf.Optimizer) {
  const weights = seeded(3, () =>
    [8, 24, 16].map((width, i) => tf.tidy(() => tf.variable(tf.randomNormal([width, [24, 16, 4][i]]), true, `w${i}`))),
  );
  const x = seeded(4, () => tf.randomNormal([2, 8]));
  const optimizer = make();
  const step = (): number =>
    tf.tidy(() => {
      const loss = () => tf.mean(weights.reduce((h: tf.Tensor, w) => tf.tanh(tf.matMul(h, w)), x)) as tf.Scalar;
      return (optimizer.minimize(loss, true) as tf.Scalar).dataSync()[0];
    });
  const values = () => weights.map((weight) => [...weight.dataSync()]);
  const end = () => {
    optimizer.dispose();
    tf.dispose([x, weights] as never);
  };
  return { step, values, optimizer, end };
}

/** The most bytes alive when an op is done. */
class PeakBetweenOps extends MemoryMeter {
  most = 0;
  opDone(_op: OpDone): void {
    this.most = Math.max(this.most, this.liveBytes);
  }
}

describe.each(Object.entries(optimizers))("an update by %s", (_, make) => {
  test("that has not the room is refused before it begins, and with the room that the error asks for it is stock's", () => {
    const stock = network(make);
    const expected = [1, 2, 3].map(() => [stock.step(), stock.values()]);
    stock.end();
    const { step, values, optimizer, end } = network(make);
    const found: unknown[] = [];
    let budget = 1;
    let refusedUpdates = 0;
    for (let i = 0; i < 3; i++)
      for (;;) {
        const before = [values(), optimizer.iterations, counts()];
        const meter = new PeakBetweenOps();
        try {
          const loss = withDispatchMode(meter, () => withMemoryBudget(budget, () => step(), { online: true }));
          found.push([loss, values()]);
          expect(meter.most).toBeLessThanOrEqual(budget);
          break;
        } catch (error) {
          expect(error).toBeInstanceOf(BudgetError);
          const { op, smallestBudgetBytes } = error as BudgetError;
          expect(smallestBudgetBytes).toBeGreaterThan(budget);
          budget = smallestBudgetBytes;
          expect([values(), optimizer.iterations, counts()]).toEqual(before);
          if (op.startsWith("the update of the weights by ")) refusedUpdates++;
        }
      }
    expect(found).toEqual(expected);
    // For the next ones, too, which hold more where all slots are there when they begin.
    expect(refusedUpdates).toBe(1);
    end();
  });
});

test("nobody else sees the rehearsal of an update, and it leaves nothing behind", () => {
  const { step, end } = network(optimizers.adam);
  step();
  const seen = (run: () => void) => {
    const log: string[] = [];
    const recorder = new TraceRecorder();
    const watch: DispatchMode = {
      // What a pass holds and lets go of is a matter of its own.
      phaseChanged: (phase) => void (phase === Phase.optimizer && log.splice(0)),
      opDone: ({ kernel }) => void log.push(kernel),
      storageAllocated: ({ bytes }) => void log.push(`+${bytes}`),
      storageReleased: ({ bytes }) => void log.push(`-${bytes}`),
      optimizerStepDone: () => void log.push("updated"),
      variableAssigned: ({ name }) => void log.push(name),
    };
    const before = counts();
    withDispatchMode(recorder, () => withDispatchMode(watch, run));
    expect(counts()).toEqual(before);
    return { log, ops: recorder.trace().ops.count, backend: tf.getBackend() };
  };
  const early = openDispatchMode({ releasesEarly: true });
  const expected = seen(() => void step());
  early();
  expect(expected.log).toContain("updated");
  expect(seen(() => void withMemoryBudget(1e9, () => step(), { online: true }))).toEqual(expected);
  end();
});

test.each(Object.entries(optimizers))(
  "a percentage is of what stock takes to update the weights, too: by %s",
  (_, make) => {
    const stock = network(make);
    const expected = [1, 2, 3].map(() => stock.step());
    stock.end();
    const { step, end } = network(make);
    const meter = new PeakBetweenOps();
    let budgetBytes: number | undefined;
    const losses = withDispatchMode(meter, () =>
      withMemoryBudget(
        "100%",
        (execution) => {
          const values = [1, 2, 3].map(() => step());
          ({ budgetBytes } = execution);
          return values;
        },
        { online: true },
      ),
    );
    expect(losses).toEqual(expected);
    expect(budgetBytes).toBe(meter.most);
    end();
  },
);

test("an optimizer of the user's own runs without a rehearsal, and is refused where room runs out", () => {
  class Own extends tf.Optimizer {
    slots: Record<string, tf.Variable> = {};
    static readonly className = "Own";
    applyGradients(gradients: tf.NamedTensorMap): void {
      tf.tidy(() => {
        for (const [name, gradient] of Object.entries(gradients)) {
          const variable = tf.engine().registeredVariables[name];
          variable.assign(tf.sub(variable, gradient));
        }
      });
    }
    getConfig(): tf.serialization.ConfigDict {
      return {};
    }
  }
  const { step, values, end } = network(() => new Own());
  const refused: string[] = [];
  const before = values();
  for (let budget = 1; ; )
    try {
      withMemoryBudget(budget, () => step(), { online: true });
      break;
    } catch (error) {
      const { op, smallestBudgetBytes } = error as BudgetError;
      refused.push(op);
      budget = smallestBudgetBytes;
    }
  expect(refused.at(-1)).toBe("Sub of [24,16], [24,16]");
  expect(values()).not.toEqual(before);
  end();
});
