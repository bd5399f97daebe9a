import { loadKerasModel } from "@remat/keras-loader";
import * as tf from "@tensorflow/tfjs";
import topology from "../keras/mobilenet_v1.model.json";

/** MobileNet of keras.applications, as a classifier of two classes. */
export function makeModel(pixels) {
  const trunk = loadKerasModel(JSON.stringify(topology), { inputShape: [pixels, pixels, 3] });
  // Both models drop the same elements.
  for (const layer of trunk.layers) if (layer.getClassName() === "Dropout") layer.seed = 1;
  const features = trunk.layers.at(-2).output;
  const output = tf.layers.dense({ units: 2, activation: "softmax", name: "classes" }).apply(features);
  const model = tf.model({ inputs: trunk.inputs, outputs: output });
  model.compile({ optimizer: tf.train.adam(1e-3), loss: "categoricalCrossentropy" });
  return model;
}
