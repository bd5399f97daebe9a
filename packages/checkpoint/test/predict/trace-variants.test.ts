import { selectBackend } from "@remat/dispatch-hook/backends/node";
import { type Trace, writeTrace } from "@remat/trace";
import {
  type ModelFactory,
  type StepVariant,
  stepToPlan,
  type TraceStepOptions,
  traceFakeStep,
  traceFakeSteps,
} from "@remat/tracer";
import type * as tf from "@tensorflow/tfjs-core";
import { beforeAll, describe, expect, it } from "vitest";
import { releasedVariant, traceReleasedStep } from "../../src/predict/index.js";
import { exampleNamed, exampleNames } from "../training.js";

beforeAll(() => selectBackend({ for: "training", backend: "cpu" }));

/** Each way to take a step, and how it is traced alone. */
const ways: Readonly<Record<string, { variant: StepVariant; alone: typeof traceFakeStep }>> = {
  "as written": { variant: {}, alone: traceFakeStep },
  planned: { variant: stepToPlan, alone: (model, options) => traceFakeStep(model, { ...options, ...stepToPlan }) },
  ...Object.fromEntries(
    [false, true].map((updateInBackward) => [
      `released early${updateInBackward ? ", updated in the backward pass" : ""}`,
      {
        variant: releasedVariant({ updateInBackward }),
        alone: (model: unknown, options: TraceStepOptions = {}) =>
          traceReleasedStep(model, options, { updateInBackward }),
      },
    ]),
  ),
};

/** The file of a trace. tfjs-layers goes on counting the layers that have no name, in every model. */
const written = (trace: Trace): string =>
  Buffer.concat([...writeTrace(trace)])
    .toString()
    .replaceAll(/([a-z]_[A-Za-z0-9]*[A-Za-z])\d+\b/g, "$1");

describe.each(["sgd", "adam"])("steps of one model that was built once, updated by %s,", (optimizer) => {
  it.each(exampleNames)("are traced as those of models of their own: %s", async (name) => {
    const exported = await exampleNamed(name);
    const options = { size: "tiny", batch: 4, optimizer, name } as const;
    let builds = 0;
    const counted: ModelFactory = (context) => {
      builds++;
      return (exported as ModelFactory)(context);
    };
    const variants = Object.values(ways).map(({ variant }) => variant);
    const traces = await traceFakeSteps(counted, options, variants);
    // Without a step before, an LSTM makes its states in the first.
    expect(builds).toBe(name === "lstm" && optimizer === "sgd" ? variants.length : 1);
    for (const [i, [way, { alone }]] of Object.entries(ways).entries())
      expect(written(traces[i]) === written(await alone(exported, options)), way).toBe(true);
  });
});

/** The ops of a step in each variant, alone and as one of several. */
async function compare(model: ModelFactory, variants: readonly StepVariant[]): Promise<void> {
  const traces = await traceFakeSteps(model, {}, variants);
  for (const [i, variant] of variants.entries()) {
    const [alone] = await traceFakeSteps(model, {}, [variant]);
    expect(written(traces[i])).toBe(written(alone));
  }
}

describe("a model whose steps differ is built for each way to take a step:", () => {
  it("one that keeps a tensor of every step", () =>
    compare(
      ({ tf }) => {
        const weight = tf.variable(tf.ones([4, 4]));
        const losses: unknown[] = [];
        const forward = (x: tf.Tensor2D) => {
          losses.push(tf.keep(tf.sum(x)));
          return tf.matMul(x, weight);
        };
        return { forward, parameters: { weight }, inputs: tf.ones([2, 4]) };
      },
      [{}, stepToPlan],
    ));

  it("one with another layer from the second step on", () =>
    compare(
      ({ tf }) => {
        const weight = tf.variable(tf.ones([4, 4]));
        let steps = 0;
        const forward = (x: tf.Tensor2D, { training }: { training: boolean }) => {
          if (training) steps++;
          return steps > 1 ? tf.relu(tf.matMul(x, weight)) : tf.matMul(x, weight);
        };
        return { forward, parameters: { weight }, inputs: tf.ones([2, 4]) };
      },
      [{}, stepToPlan, {}],
    ));
});
