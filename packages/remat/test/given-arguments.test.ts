import { readdirSync, readFileSync } from "node:fs";
import {
  applyPlan,
  checkpointLayers,
  endCheckpointing,
  MemoryMeter,
  measurePeakBytes,
  named,
  printSavedTensors,
  savedTensors,
  withMemoryBudget,
} from "@remat/checkpoint";
import { predictReleasedPeak, timeTraining, traceReleasedStep } from "@remat/checkpoint/predict";
import { eachStorageOf, isVariable, storagesOf, watchOptimizer, withDispatchMode } from "@remat/dispatch-hook";
import { ModTracker, optimizerSlots } from "@remat/mod-tracker";
import { deviceSpec } from "@remat/runtime-estimator";
import {
  defineModel,
  prepareStep,
  tfNamespace,
  timeFakeStep,
  timeStep,
  traceFakeStep,
  traceFakeSteps,
  traceStep,
  trainableVariables,
} from "@remat/tracer";
import * as tf from "@tensorflow/tfjs";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { fakeMode } from "../../dispatch-hook/src/fake/index.js";
import { tracePricedStep } from "../../runtime-estimator/src/step/index.js";
import { SACEstimator } from "../../sac-core/src/estimator/index.js";
import { memoryOf, plan, record } from "../src/index.js";

beforeAll(() => tf.setBackend("cpu"));
afterEach(() => endCheckpointing());

/** Arguments of a function. */
interface Given {
  readonly model: tf.Sequential;
  readonly definition: { readonly model: tf.Sequential; readonly inputs: tf.Tensor; readonly targets: tf.Tensor };
}

let failsNow = false;

class Failing extends tf.layers.Layer {
  static className = "Failing";
  override call(inputs: tf.Tensor | tf.Tensor[]): tf.Tensor {
    if (failsNow) throw new Error("the layer fails");
    return tf.clone([inputs].flat()[0]);
  }
  override computeOutputShape(shape: tf.Shape): tf.Shape {
    return shape;
  }
}
tf.serialization.registerClass(Failing);

const variablesOf = ({ weights }: tf.LayersModel) =>
  weights.map((weight) => (weight as unknown as { val: tf.Variable }).val);

/** A compiled model that has been trained: its optimizer has slots, its recurrent layer a state. */
async function given(): Promise<Given> {
  const kernelInitializer = tf.initializers.glorotNormal({ seed: 1 });
  const model = tf.sequential({
    layers: [
      tf.layers.lstm({
        units: 4,
        stateful: true,
        batchInputShape: [6, 3, 5],
        kernelInitializer,
        recurrentInitializer: kernelInitializer,
      }),
      new Failing({}),
      tf.layers.dense({ units: 2, kernelInitializer, activation: "softmax" }),
    ],
  });
  model.compile({ optimizer: tf.train.adam(0.01), loss: "categoricalCrossentropy", metrics: ["accuracy"] });
  const inputs = tf.randomNormal([6, 3, 5], 0, 1, "float32", 2);
  const targets = tf.tidy(() => tf.cast(tf.oneHot(tf.tensor1d([0, 1, 1, 0, 1, 0], "int32"), 2), "float32"));
  await model.trainOnBatch(inputs, targets);
  return { model, definition: { model, inputs, targets } };
}

const bits = (tensor: tf.Tensor) => Array.from(tensor.dataSync());

/** All that could be disposed of, or changed, of what is given. */
function stateOf({ model, definition }: Given) {
  const { optimizer } = model;
  const lstm = model.layers[0] as unknown as { states_: tf.Tensor[]; keptStates: tf.Tensor[][] };
  const { numTensors, numBytes, numDataBuffers } = tf.memory();
  return {
    weights: variablesOf(model).map(bits),
    batch: [definition.inputs, definition.targets].map(bits),
    states: lstm.states_.map(bits),
    optimizer,
    slots: optimizerSlots(optimizer).map(bits),
    steps: (optimizer as unknown as { iterations_: number }).iterations_,
    counts: { numTensors, numBytes, numDataBuffers },
  };
}

const squareOf = (model: tf.LayersModel) => {
  if (failsNow) throw new Error("the function fails");
  return tf.sum(tf.square(variablesOf(model)[0]));
};

/** The functions that only look, and those that train for real. */
const looking: Readonly<Record<string, (given: Given) => unknown>> = {
  traceFakeStep: ({ model }) => traceFakeStep(model, { backend: "cpu" }),
  traceFakeSteps: ({ model }) => traceFakeSteps(model, { backend: "cpu" }, [{}, {}]),
  "traceFakeStep of a definition": ({ definition }) => traceFakeStep(definition, { backend: "wasm", steps: 2 }),
  timeFakeStep: ({ definition }) => timeFakeStep(definition, { backend: "cpu" }),
  defineModel: ({ definition }) =>
    defineModel(definition, { tf: tfNamespace(), size: "tiny", batch: 6, scope: (_, run) => run() }, "model"),
  trainableVariables: ({ definition }) => trainableVariables(definition),
  memoryOf: ({ model }) => memoryOf(model),
  plan: ({ model }) => plan(model, { budget: "100%", planningMs: 100 }),
  predictReleasedPeak: ({ definition }) => predictReleasedPeak(definition, { backend: "cpu" }),
  traceReleasedStep: ({ definition }) => traceReleasedStep(definition, { backend: "cpu" }),
  estimateStep: ({ model }) => new SACEstimator().estimateStep("operator-level-cost-model", model, { backend: "cpu" }),
  tracePricedStep: ({ model }) =>
    tracePricedStep("operator-level-cost-model", model, { backend: "cpu", device: deviceSpec("cpu") }),
  isVariable: ({ definition }) => isVariable(definition.inputs),
  eachStorageOf: ({ definition }) =>
    withDispatchMode(new MemoryMeter(), () => {
      eachStorageOf(definition.inputs, (storage) => expect(storage.bytes).toBeGreaterThan(0));
    }),
  storagesOf: ({ definition }) => withDispatchMode(new MemoryMeter(), () => storagesOf(definition.inputs).length),
  watchOptimizer: ({ model }) => withDispatchMode({}, () => watchOptimizer(model.optimizer)),
  optimizerSlots: ({ model }) => optimizerSlots(model.optimizer),
  named: ({ definition }) => named("x", definition.inputs),
  savedTensors: ({ model }) => savedTensors(() => squareOf(model), { model }),
  printSavedTensors: ({ model }) => printSavedTensors(() => squareOf(model), { model, print: () => {} }),
  "fakeMode around fit": ({ definition: { model, inputs, targets } }) =>
    fakeMode(async () => void (await model.fit(inputs, targets, { epochs: 2, batchSize: 6, verbose: 0 }))),
  "fakeMode around predict": ({ definition: { model, inputs } }) =>
    fakeMode(() => void (model.predict(inputs) as tf.Tensor).dispose()),
  ModTracker: ({ model, definition }) => {
    const tracker = new ModTracker();
    try {
      tracker.track(model, {});
      tracker.own({ x: definition.inputs });
      tracker.trackOptimizer(model.optimizer);
      if (failsNow) throw new Error("while it tracks");
    } finally {
      tracker.close();
    }
  },
};

const training: Readonly<Record<string, (given: Given) => unknown>> = {
  traceStep: ({ definition }) => traceStep(definition),
  "traceStep of a model": ({ model }) => traceStep(model),
  prepareStep: async ({ definition }) => {
    const step = await prepareStep(definition);
    try {
      step.take();
    } finally {
      step.dispose();
    }
  },
  timeStep: async ({ definition }) =>
    timeStep(definition, await traceFakeStep(definition, { backend: "cpu" }), { minSteps: 1, maxSteps: 1 }),
  timeTraining: async ({ definition }) =>
    timeTraining(definition, await traceFakeStep(definition, { backend: "cpu" }), {
      releasedPeakBytes: 1e6,
      isSynchronous: true,
    }),
  record: ({ definition: { model, inputs, targets } }) => record(() => model.trainOnBatch(inputs, targets), { model }),
  checkpointLayers: async ({ definition: { model, inputs, targets } }) => {
    const end = checkpointLayers(model, "dense*");
    try {
      await model.trainOnBatch(inputs, targets);
    } finally {
      end();
    }
  },
  measurePeakBytes: ({ definition: { model, inputs, targets } }) =>
    measurePeakBytes(() => model.trainOnBatch(inputs, targets), variablesOf(model)),
  withMemoryBudget: ({ definition: { model, inputs, targets } }) =>
    withMemoryBudget("1MB", () => model.trainOnBatch(inputs, targets)),
  applyPlan: async ({ definition: { model, inputs, targets } }) => {
    const wasFailing = failsNow;
    failsNow = false;
    const execution = applyPlan(await plan(model, { budget: "100%", planningMs: 100 }));
    failsNow = wasFailing;
    try {
      await model.trainOnBatch(inputs, targets);
    } finally {
      execution.close();
    }
  },
};

/** Neither run anything nor keep what they are given, or are given what is no model's or user's. */
const exempt = new Set([
  "eachLivingTensor",
  "forEachInput",
  "forwardOnTape",
  "listInTurns",
  "refuseComplex",
  "sharedBuffers",
  "formatSavedTensors",
  "optimizerByName",
  "fakeTensor",
]);

async function attempt(run: () => unknown): Promise<unknown> {
  try {
    await run();
    return undefined;
  } catch (error) {
    return error;
  }
}

describe("arguments are not changed, even after errors, by", () => {
  it.each(Object.entries(looking))("%s", async (_, look) => {
    const mine = await given();
    const before = stateOf(mine);
    expect(await attempt(() => look(mine))).toBeUndefined();
    expect(stateOf(mine)).toEqual(before);
    failsNow = true;
    await attempt(() => look(mine));
    failsNow = false;
    expect(stateOf(mine)).toEqual(before);
    expect(await mine.model.trainOnBatch(mine.definition.inputs, mine.definition.targets)).toHaveLength(2);
  });
});

describe("arguments stay alive in real steps, even after errors, by", () => {
  it.each(Object.entries(training))("%s", async (_, train) => {
    const mine = await given();
    const { batch, optimizer, slots } = stateOf(mine);
    expect(await attempt(() => train(mine))).toBeUndefined();
    failsNow = true;
    expect(await attempt(() => train(mine))).toMatchObject({ message: "the layer fails" });
    failsNow = false;
    const after = stateOf(mine);
    expect([after.batch, after.optimizer, after.slots.length]).toEqual([batch, optimizer, slots.length]);
    expect(after.weights.flat().every(Number.isFinite)).toBe(true);
    expect(await mine.model.trainOnBatch(mine.definition.inputs, mine.definition.targets)).toHaveLength(2);
  });
});

it("tries each public function that takes a model, a tensor or an optimizer", () => {
  const reports = new URL("../../../etc/", import.meta.url);
  const takes = /(LayersModel|Tensor(Info)?\b|Optimizer\b|Variable\b|exported: unknown|Trainable\b|optimizer: object)/;
  const tried = [...Object.keys(looking), ...Object.keys(training)].map((name) => name.split(" ")[0]);
  const taking = readdirSync(reports).flatMap((file) =>
    [
      ...readFileSync(new URL(file, reports), "utf8").matchAll(
        /^export (?:function|const) (\w+)(?:<.*?>)?(?:: )?\((.*)\)/gm,
      ),
    ]
      .filter(([, , parameters]) => takes.test(parameters))
      .map(([, name]) => name),
  );
  expect(taking).toContain("traceStep");
  const missing = taking.filter((name) => !tried.includes(name) && !exempt.has(name));
  expect(missing).toEqual([]);
});
