import { openDispatchMode } from "@remat/dispatch-hook";
import { heldPeak } from "@remat/memory";
import { type ModelContext, type ModelDefinition, traceFakeStep } from "@remat/tracer";
import { prepareStep } from "@remat/tracer/step";
import * as tf from "@tensorflow/tfjs";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { MemoryMeter, releaseEarly } from "../../src/index.js";
import { predictReleasedPeak } from "../../src/predict/index.js";

beforeAll(async () => {
  await tf.setBackend("cpu");
});
afterEach(() => tf.disposeVariables());

type Make = (core: ModelContext["tf"], shape: [number, number]) => tf.Variable;

/** A model of plain functions, in no scope, whose variables are made in one of the ways in which people do. */
const model =
  (variable: Make) =>
  ({ tf: core }: ModelContext): ModelDefinition => {
    const [w1, w2] = [variable(core, [16, 32]), variable(core, [32, 16])];
    const forward = (x: tf.Tensor) => core.matMul(core.relu(core.matMul(x, w1)), w2);
    return { parameters: { w1, w2 }, inputs: core.randomNormal([8, 16]), forward: forward as never };
  };

const waysToMake: Readonly<Record<string, Make>> = {
  // The tensor stays, as in tfjs's own documentation.
  "of a tensor that stays": (core, shape) => core.variable(core.randomNormal(shape)),
  "of a tensor that goes": (core, shape) => core.tidy(() => core.variable(core.randomNormal(shape))),
};

/** The most that three real steps hold. */
async function measure(make: Make, optimizer: string): Promise<number> {
  const step = await prepareStep(model(make), { optimizer });
  const { parameters = {}, inputs, targets } = step.definition;
  const meter = new MemoryMeter();
  const stop = openDispatchMode(meter);
  try {
    const batch = [inputs, targets ?? []].flat() as tf.Tensor[];
    meter.count([...Object.values(parameters), ...batch]);
    step.take();
    // Adamax's first update keeps the zeros that its state begins with until it is over; what is predicted is what goes on.
    if (optimizer === "adamax") meter.reset();
    for (let i = 0; i < 2; i++) step.take();
    return meter.peakBytes;
  } finally {
    stop();
    step.dispose();
  }
}

describe.each(Object.entries(waysToMake))("a step with variables made %s", (_, make) => {
  it.each(["sgd", "momentum", "adam", "rmsprop", "adamax", "adagrad", "adadelta"])(
    "holds what is predicted for it, and with early release, by %s",
    async (optimizer) => {
      const options = { optimizer, backend: "cpu" } as const;
      const stock = heldPeak(await traceFakeStep(model(make), options)).peakBytes;
      const released = (await predictReleasedPeak(model(make), options)).peakBytes;
      expect(await measure(make, optimizer)).toBe(stock);
      const stop = releaseEarly();
      try {
        expect(await measure(make, optimizer)).toBe(released);
      } finally {
        stop();
      }
      expect(released).toBeLessThan(stock);
    },
  );
});
