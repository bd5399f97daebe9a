import { type GradientsCall, type RunGradients, withDispatchMode } from "@remat/dispatch-hook";
import type { Trace } from "@remat/trace";
import * as tf from "@tensorflow/tfjs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { TraceRecorder } from "../../tracer/src/recorder/trace-recorder.js";
import { type Layer, type ModelWatch, ModTracker, watchModels } from "../src/index.js";
import { eventsAndOps, traceOf } from "./events.js";
import { nestedModel } from "./models.js";

let watch: ModelWatch;
beforeEach(async () => {
  await tf.setBackend("cpu");
  tf.disposeVariables();
  watch = watchModels();
});
afterEach(() => watch.close());

/** Records `run` with a tracker that is not given a model and follows those that run in passes. */
async function followed(run: () => unknown): Promise<Trace> {
  const recorder = new TraceRecorder();
  const tracker = new ModTracker({ recorder });
  const follower = { gradients: (_: GradientsCall, next: RunGradients) => watch.follow(tracker, next) };
  try {
    await withDispatchMode(follower, () => tracker.run(run));
    return recorder.trace();
  } finally {
    tracker.close();
  }
}

const sequential = () =>
  tf.sequential({
    name: "mlp",
    layers: [
      tf.layers.dense({ name: "hidden", units: 3, inputShape: [2] }),
      tf.layers.dropout({ name: "drop", rate: 0.5 }),
      tf.layers.dense({ name: "out", units: 1 }),
    ],
  });
const recurrent = () =>
  tf.sequential({
    name: "rnn",
    layers: [
      tf.layers.bidirectional({
        name: "both",
        layer: tf.layers.gru({ units: 2 }) as never,
        mergeMode: "ave",
        inputShape: [3, 2],
      }),
      tf.layers.dense({ name: "out", units: 1 }),
    ],
  });

describe("a tracker that follows what runs", () => {
  const models: readonly [string, () => tf.LayersModel, readonly number[]][] = [
    ["a functional model with models in it", nestedModel as () => tf.LayersModel, [4, 2]],
    ["a Sequential", sequential, [4, 2]],
    ["a recurrent one", recurrent, [4, 3, 2]],
  ];
  const ways: readonly [string, (model: tf.LayersModel, x: tf.Tensor, y: tf.Tensor) => unknown][] = [
    ["fit", (model, x, y) => model.fit(x, y, { epochs: 1, batchSize: 2, shuffle: false, verbose: 0 })],
    ["trainOnBatch", (model, x, y) => model.trainOnBatch(x, y)],
    ["predict in a loop", (model, x, y) => model.optimizer.minimize(() => loss(model.predict(x) as tf.Tensor, y))],
    ["apply in a loop", (model, x, y) => model.optimizer.minimize(() => loss(model.apply(x) as tf.Tensor, y))],
  ];
  const loss = (x: tf.Tensor, y: tf.Tensor) => tf.losses.meanSquaredError(y, x) as tf.Scalar;

  it.each(models.flatMap(([what, make, shape]) => ways.map(([way, run]) => [what, way, make, shape, run] as const)))(
    "sees of %s, by %s, what one sees that is told",
    async (_what, _way, make, shape, run) => {
      const model = make();
      model.compile({ optimizer: tf.train.sgd(0.1), loss: "meanSquaredError" });
      const [x, y] = [tf.ones(shape as number[]), tf.ones([4, 1])];
      const told = await traceOf(model as unknown as Layer, () => run(model, x, y));
      const found = await followed(() => run(model, x, y));
      expect(eventsAndOps(found)).toEqual(eventsAndOps(told));
      expect(found.modules.map(({ fqn, kind }) => [fqn, kind])).toEqual(
        told.modules.map(({ fqn, kind }) => [fqn, kind]),
      );
    },
  );

  it("names a layer that another holds where nobody sees it by what it runs in", async () => {
    const inner = tf.layers.dense({ name: "inner", units: 2 });
    class Hiding extends tf.layers.Layer {
      override call(x: tf.Tensor | tf.Tensor[]) {
        return inner.apply(x) as tf.Tensor;
      }
      static readonly className = "Hiding";
    }
    const outer = new Hiding({ name: "outer" });
    outer.apply(tf.ones([1, 2]));
    const trace = await followed(() => tf.variableGrads(() => tf.sum(outer.apply(tf.ones([1, 2])) as tf.Tensor)));
    expect(trace.modules.map(({ fqn }) => fqn)).toEqual(["outer", "outer.inner"]);
  });

  it("leaves it to tfjs to say what is wrong with a model that cannot run", async () => {
    const empty = tf.sequential({ name: "empty" });
    tf.variable(tf.scalar(1));
    const run = () => empty.apply(tf.ones([1, 2]));
    expect(run).toThrow(/model is empty/);
    await expect(followed(() => tf.variableGrads(() => run() as tf.Scalar))).rejects.toThrow(/model is empty/);
  });
});

it("leaves alone what runs outside of what is followed, and the classes when it is closed", () => {
  const prototypes = [tf.layers.Layer.prototype, tf.LayersModel.prototype, tf.Sequential.prototype];
  watch.close();
  const before = prototypes.map((prototype) => Object.getOwnPropertyDescriptors(prototype));
  const other = watchModels();
  const model = sequential();
  const keys = Reflect.ownKeys(model.layers[0]);
  model.predict(tf.ones([1, 2]));
  expect(Reflect.ownKeys(model.layers[0])).toEqual(keys);
  other.close();
  expect(prototypes.map((prototype) => Object.getOwnPropertyDescriptors(prototype))).toEqual(before);
});
