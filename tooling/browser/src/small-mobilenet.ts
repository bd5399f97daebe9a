import * as tf from "@tensorflow/tfjs-core";
import { input, layers, metrics, model, type SymbolicTensor } from "@tensorflow/tfjs-layers";

const relu6 = (x: SymbolicTensor) => layers.reLU({ maxValue: 6 }).apply(x);
const normalized = (x: unknown) => layers.batchNormalization().apply(x as SymbolicTensor) as SymbolicTensor;
const activated = (x: unknown) => relu6(normalized(x)) as SymbolicTensor;
const conv = (filters: number, x: SymbolicTensor) =>
  layers.conv2d({ filters, kernelSize: 1, padding: "same", useBias: false }).apply(x);

/**
 * An image classifier with two blocks of the layers of MobileNet V1 and V2. It has few different shapes, so that a
 * software GPU has few programs to compile. A step uses 2 images of 16 × 16 pixels.
 */
export default function build() {
  const image = input({ shape: [16, 16, 3] });
  const stem = layers.conv2d({ filters: 8, kernelSize: 3, strides: 2, padding: "same", useBias: false }).apply(image);
  const padded = layers.zeroPadding2d({ padding: 1 }).apply(activated(stem));
  const strided = layers
    .depthwiseConv2d({ kernelSize: 3, strides: 2, padding: "valid", useBias: false })
    .apply(padded as SymbolicTensor);
  const narrow = normalized(conv(8, activated(strided)));
  const wide = activated(conv(48, narrow));
  const deep = layers.depthwiseConv2d({ kernelSize: 3, padding: "same", useBias: false }).apply(wide);
  const joined = layers.add().apply([narrow, normalized(conv(8, activated(deep)))]) as SymbolicTensor;
  const pooled = layers.globalAveragePooling2d({}).apply(joined) as SymbolicTensor;
  const dropped = layers.dropout({ rate: 0.001 }).apply(pooled) as SymbolicTensor;
  const outputs = layers.dense({ units: 10, activation: "softmax" }).apply(dropped) as SymbolicTensor;
  return {
    name: "SmallMobileNet",
    model: model({ inputs: image, outputs }),
    inputs: tf.randomUniform([2, 16, 16, 3], 0, 255),
    targets: tf.tidy(() => tf.cast(tf.oneHot(tf.randomUniformInt([2], 0, 10, 1), 10), "float32")),
    loss: (probabilities: tf.Tensor, targets: tf.Tensor) =>
      tf.mean(metrics.categoricalCrossentropy(targets, probabilities)) as tf.Scalar,
  };
}
