import { openDispatchMode, withDispatchMode } from "@remat/dispatch-hook";
import { ModTracker } from "@remat/mod-tracker";
import { TraceRecorder } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";
import { beforeAll, describe, expect, test } from "vitest";
import { Executor } from "../../src/executor/executor.js";
import {
  checkpoint,
  endCheckpointing,
  MemoryMeter,
  measurePeakBytes,
  releaseEarly,
  withMemoryBudget,
} from "../../src/index.js";
import { EvictingPolicy } from "../executor/evict-all.js";
import { seeded } from "../training.js";
import { counts, methodsOf } from "./ways.js";

beforeAll(async () => {
  await tf.setBackend("cpu");
  network(1).end();
});

/** A network with its own step; `inside` runs in its forward pass. */
function network(seed: number, batch = 64) {
  const [weights, x] = seeded(seed, () => [
    Array.from({ length: 8 }, () => tf.tidy(() => tf.variable(tf.randomNormal([16, 16], 0, 0.3)))),
    tf.randomNormal([batch, 16]),
  ]);
  const optimizer = tf.train.adam(0.05);
  const step = (inside: (layer: number) => void = () => {}): number =>
    tf.tidy(() => {
      const loss = optimizer.minimize(
        () =>
          weights
            .reduce((h: tf.Tensor, w, layer) => {
              inside(layer);
              return tf.sin(tf.tanh(tf.matMul(h, w)));
            }, x)
            .square()
            .mean() as tf.Scalar,
        true,
        weights,
      );
      return loss?.dataSync()[0] as number;
    });
  const end = () => {
    const values = weights.map((weight) => [...weight.dataSync()]);
    optimizer.dispose();
    tf.dispose([weights, x] as never);
    return values;
  };
  return { step, end, weights, x };
}

const stockOf = (seed: number, steps: number, batch?: number) => {
  const { step, end } = network(seed, batch);
  const losses = Array.from({ length: steps }, () => step());
  return { losses, weights: end() };
};

const peak = async (batch?: number) => (await measurePeakBytes(() => stockOf(1, 2, batch))).peakBytes;

/** Nothing is left, and nothing is patched. */
async function leavingNothing(run: () => unknown): Promise<void> {
  const [before, methods] = [counts(), methodsOf()];
  await run();
  expect(counts()).toEqual(before);
  expect([...methodsOf()].filter(([name, method]) => methods.get(name) !== method)).toEqual([]);
}

test("two trainings in turns, one within a budget, both behave like the baseline", async () => {
  const budget = Math.floor(0.6 * (await peak()));
  await leavingNothing(async () => {
    const [one, two] = [stockOf(1, 4), stockOf(2, 4, 256)];
    const turn = () => new Promise((resolve) => setTimeout(resolve, 1));
    const train = async (seed: number, batch: number | undefined, stepOver: () => unknown = () => {}) => {
      const { step, end } = network(seed, batch);
      const losses: number[] = [];
      for (let i = 0; i < 4; i++) {
        losses.push(step());
        await turn();
        await stepOver();
      }
      return { losses, weights: end() };
    };
    const found = await Promise.all([
      withMemoryBudget(
        budget,
        (execution) =>
          train(1, undefined, () => {
            expect(execution.lastStep?.peakBytes).toBeLessThanOrEqual(budget);
            return execution.planned;
          }),
        { planningMs: 50 },
      ),
      train(2, 256),
    ]);
    expect(found).toEqual([one, two]);
  });
});

test("budgets in budgets, with blocks and early release, whoever closes first", async () => {
  const budget = Math.floor(0.7 * (await peak()));
  await leavingNothing(async () => {
    const stock = stockOf(1, 3);
    const { step, end } = network(1);
    const stop = releaseEarly();
    const block = checkpoint(() => {});
    const losses = withMemoryBudget(
      budget,
      () => {
        const first = withMemoryBudget(2 * budget, () => step(), { online: true });
        stop();
        const second = step(() => block());
        endCheckpointing();
        return [first, second, step()];
      },
      { online: true },
    );
    expect({ losses, weights: end() }).toEqual(stock);
  });
});

test("with a recorder, a module tracker and a meter opened before, after, and closed in the middle of a step", async () => {
  const budget = Math.floor(0.7 * (await peak()));
  await leavingNothing(async () => {
    const stock = stockOf(1, 4);
    const { step, end } = network(1);
    const losses: number[] = [];
    const modes = () => [new TraceRecorder(), new ModTracker(), new MemoryMeter()];
    const before = modes().map(openDispatchMode);
    withMemoryBudget(
      budget,
      () => {
        losses.push(step());
        const after = modes().map(openDispatchMode);
        losses.push(step((layer) => after[layer]?.()));
        losses.push(withDispatchMode(new TraceRecorder(), () => step((layer) => before[layer]?.())));
      },
      { online: true },
    );
    const stop = releaseEarly();
    losses.push(step((layer) => layer === 4 && stop()));
    expect({ losses, weights: end() }).toEqual(stock);
  });
});

test("an executor that is closed in the middle of a step: the step is stock's", async () => {
  await leavingNothing(() => {
    const stock = stockOf(1, 4);
    const { step, end } = network(1);
    const losses: number[] = [];
    for (const at of [1, 4, 7]) {
      const close = openDispatchMode(new Executor(new EvictingPolicy()));
      losses.push(
        step((layer) => {
          if (layer === at) close();
        }),
      );
    }
    const block = checkpoint((layer: number) => {
      if (layer === 5) endCheckpointing();
    });
    losses.push(step(block));
    expect({ losses, weights: end() }).toEqual(stock);
  });
});

describe("a step that is broken off", () => {
  test.each([0, 3, 7])("in layer %d: the next ones are stock's", async (at) => {
    const budget = Math.floor(0.7 * (await peak()));
    for (const online of [true, false])
      await leavingNothing(async () => {
        const stock = stockOf(1, 4);
        const { step, end } = network(1);
        const losses: number[] = [];
        await withMemoryBudget(
          budget,
          async ({ planned }) => {
            for (let i = 0; i < 4; i++) {
              expect(() =>
                step((layer) => {
                  if (layer === at) throw new Error("broken off");
                }),
              ).toThrow("broken off");
              losses.push(step());
              await planned;
            }
          },
          { online, planningMs: 50 },
        );
        expect({ losses, weights: end() }).toEqual(stock);
      });
  });

  test("because of a budget that is too small, which a larger one then keeps", async () => {
    const budget = await peak();
    await leavingNothing(() => {
      const stock = stockOf(1, 3);
      const { step, end } = network(1);
      for (const part of [0.02, 0.05, 0.1])
        expect(() => withMemoryBudget(part * budget, () => step())).toThrow(/budget/);
      const losses = withMemoryBudget(budget, () => [step(), step(), step()]);
      expect({ losses, weights: end() }).toEqual(stock);
    });
  });
});
