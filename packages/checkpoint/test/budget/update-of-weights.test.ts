import { type DispatchMode, withDispatchMode } from "@remat/dispatch-hook";
import { Phase } from "@remat/trace";
import { TraceRecorder } from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { type BudgetError, releaseEarly, withMemoryBudget } from "../../src/index.js";
import { counts } from "../users/ways.js";
import { network, optimizers, PeakBetweenOps, peakOfPass, stepsInNamedBudget, stockSteps } from "./updates.js";

beforeAll(async () => {
  await tf.setBackend("cpu");
});
afterEach(() => tf.disposeVariables());

describe.each(Object.entries(optimizers))("an update by %s", (_, make) => {
  test("is included in the budget that a rejected pass names, which trains as unmodified TensorFlow.js", () => {
    const stock = stockSteps(make);
    const { seen, rejected } = stepsInNamedBudget(make, 2);
    expect(seen).toEqual(stock);
    expect(rejected).toEqual([expect.stringMatching(/^BatchMatMul of /)]);
  });

  test("that does not fit is rejected before it begins, and trains in the budget that the error names", () => {
    const stock = stockSteps(make);
    const { seen, rejected } = stepsInNamedBudget(make, peakOfPass(make));
    expect(seen).toEqual(stock);
    expect(rejected).toEqual([expect.stringMatching(/^the update of the weights by /)]);
  });
});

test("other modes do not see the rehearsal of an update, and it leaves nothing behind", () => {
  const { step, end } = network(optimizers.adam);
  step();
  const seen = (run: () => void) => {
    const log: string[] = [];
    const recorder = new TraceRecorder();
    const watch: DispatchMode = {
      // The memory and evictions of passes are tested elsewhere.
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
  const early = releaseEarly();
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
    const stockMeter = new PeakBetweenOps();
    const expected = withDispatchMode(stockMeter, () => [1, 2, 3].map(() => stock.step()));
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
    expect(budgetBytes).toBe(stockMeter.most);
    expect(meter.most).toBeLessThanOrEqual(stockMeter.most);
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
  for (let budget = 2; ; )
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
