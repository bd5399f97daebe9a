// TypeScript run by tsx: an autoencoder with a custom layer.
import "../seeded.cjs";
import * as tf from "@tensorflow/tfjs";

/** Adds noise during training, the same in each run. */
class Noise extends tf.layers.Layer {
  static readonly className = "Noise";
  private calls = 0;

  override call(inputs: tf.Tensor | tf.Tensor[], kwargs: { training?: boolean }): tf.Tensor {
    const input: tf.Tensor = Array.isArray(inputs) ? inputs[0]! : inputs;
    if (kwargs.training !== true) return input.clone();
    return tf.tidy(() => input.add(tf.randomNormal(input.shape, 0, 0.1, "float32", ++this.calls)));
  }
}

interface Epoch {
  readonly epoch: number;
  readonly loss: number;
}

const epochs: Epoch[] = [];
const width: number = 32;
const model: tf.Sequential = tf.sequential();
model.add(tf.layers.dense({ units: 16, inputShape: [width], activation: "relu" }));
model.add(new Noise({}));
model.add(tf.layers.dense({ units: 8, activation: "relu" }));
model.add(tf.layers.dense({ units: 16, activation: "relu" }));
model.add(tf.layers.dense({ units: width }));
model.compile({ optimizer: tf.train.momentum(0.01, 0.9), loss: "meanSquaredError" });
const x: tf.Tensor2D = tf.randomUniform([256, width]);
await model.fit(x, x, {
  epochs: 3,
  batchSize: 128,
  verbose: 0,
  callbacks: {
    onEpochEnd: (epoch: number, logs?: tf.Logs) => {
      epochs.push({ epoch, loss: Number(logs?.["loss"]) });
    },
  },
});
console.log(JSON.stringify(epochs));
