import * as tf from "@tensorflow/tfjs-core";

/** Losses that compare classes, by their names here and in tfjs-layers. */
const classLosses: ReadonlySet<string> = new Set(["categoricalCrossentropy", "softmaxCrossEntropy"]);

/**
 * Makes a random target for an output of this shape: classes if the loss compares classes, otherwise numbers in [0, 1).
 */
export function randomTarget(shape: readonly number[], loss: string | undefined): tf.Tensor {
  const places = shape.slice(0, -1);
  const classes = shape[shape.length - 1];
  const picked = (sizes: number[]) => tf.randomUniformInt(sizes, 0, classes);
  if (loss === "sparseCategoricalCrossentropy")
    return tf.tidy(() => tf.reshape(tf.cast(picked(places), "float32"), [...places, 1]));
  if (loss === undefined || !classLosses.has(loss)) return tf.randomUniform([...shape]);
  return tf.tidy(() => tf.cast(tf.oneHot(picked(places), classes), "float32"));
}
