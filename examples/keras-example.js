import { readFileSync } from "node:fs";
import { loadKerasModel } from "@remat/keras-loader";

/**
 * An image classifier from a Keras topology, trained by cross-entropy. The tiny size is the whole model on small
 * images: these models end in global pooling, so they accept any size.
 */
export function kerasExample({ tf, size = "full", batch }, { name, file, tiny }) {
  const topology = readFileSync(new URL(`keras/${file}.model.json`, import.meta.url), "utf8");
  const images = size === "full" ? { pixels: 224, batch: 8 } : tiny;
  const count = batch ?? images.batch;
  const inputShape = [images.pixels, images.pixels, 3];
  const model = loadKerasModel(topology, size === "full" ? {} : { inputShape });
  return {
    name,
    model,
    inputs: tf.randomUniform([count, ...inputShape], 0, 255),
    targets: tf.tidy(() => tf.cast(tf.oneHot(tf.randomUniformInt([count], 0, 1000, 1), 1000), "float32")),
    loss: (probabilities, targets) => tf.mean(tf.metrics.categoricalCrossentropy(targets, probabilities)),
    ...(size === "tiny" && { notes: `Images of ${images.pixels} × ${images.pixels} pixels.` }),
  };
}
