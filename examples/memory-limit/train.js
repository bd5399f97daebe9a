// Trains a deep network for a few steps and prints the loss of each.
// Usage: node train.js [--budget 400MB] [--backend cpu]
import { parseArgs } from "node:util";
import { withMemoryBudget } from "@remat/checkpoint";
import { selectBackend } from "@remat/dispatch-hook/backends/node";
import * as tf from "@tensorflow/tfjs";

const { values: options } = parseArgs({
  options: { budget: { type: "string" }, backend: { type: "string" }, steps: { type: "string", default: "2" } },
});
await selectBackend({ for: "training", ...(options.backend !== undefined && { backend: options.backend }) });

/** Layers that scale, shift and rectify a million numbers: little to compute, much to keep for the backward pass. */
const layers = 60;
const shape = [1024, 1024];
const scale = tf.variable(tf.randomUniform(shape, 0.9, 1.1, "float32", 1));
const shift = tf.variable(tf.randomUniform(shape, -0.01, 0.02, "float32", 2));
const x = tf.randomUniform(shape, 0, 1, "float32", 3);
const y = tf.randomUniform(shape, 0, 1, "float32", 4);

function network(input) {
  let hidden = input;
  for (let layer = 0; layer < layers; layer++) hidden = tf.relu(tf.add(tf.mul(hidden, scale), shift));
  return hidden;
}
const loss = () => tf.mean(tf.squaredDifference(network(x), y));
const optimizer = tf.train.sgd(0.1);

async function train() {
  for (let step = 0; step < Number(options.steps); step++) {
    const value = optimizer.minimize(loss, true);
    console.log(value.dataSync()[0]);
    value.dispose();
    // As between the batches of `fit`.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

// The only line that differs.
await (options.budget === undefined ? train() : withMemoryBudget(options.budget, train));
