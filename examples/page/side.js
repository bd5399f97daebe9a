import { openMemoryBudget } from "@remat/checkpoint";
import * as tf from "@tensorflow/tfjs";
import "@tensorflow/tfjs-backend-webgpu";
import { makeModel } from "./make-model.js";
import { measure } from "./measure-memory.js";

let model;
let budget;

/** Requests of the page to this worker, by name. */
const calls = {
  /** `budget` undefined: unmodified training. */
  async start({ backend, pixels, budget: asked }) {
    if (!(await tf.setBackend(backend))) throw new Error(`${backend} does not start here`);
    model = makeModel(pixels);
    if (asked !== undefined) budget = openMemoryBudget(asked);
  },
  weights: () => Promise.all(model.getWeights().map((weight) => weight.data())),
  setWeights(weights) {
    const all = weights.map((values, i) => tf.tensor(values, model.getWeights()[i].shape));
    model.setWeights(all);
    tf.dispose(all);
  },
  async step(pictures, shape, classes) {
    const x = tf.tidy(() => tf.sub(tf.div(tf.tensor(pictures, shape), 127.5), 1));
    const y = tf.oneHot(tf.tensor1d(classes, "int32"), 2);
    const measured = await measure(() => model.trainOnBatch(x, y));
    tf.dispose([x, y]);
    return { ...measured, recomputedOps: budget?.execution.lastStep?.recomputedOps };
  },
};

globalThis.onmessage = async ({ data: { call, args } }) => {
  try {
    postMessage({ result: await calls[call](...args) });
  } catch ({ code, message }) {
    postMessage({ code, message });
  }
};
