const sizes = {
  full: { pixels: 256, channels: 64, depth: 4, batch: 4 },
  tiny: { pixels: 32, channels: 4, depth: 3, batch: 1 },
};

/**
 * A U-Net (Ronneberger, Fischer and Brox 2015) that predicts for each pixel whether it belongs to the object.
 * Convolutions keep the size, as in most later versions, so that nothing is cropped.
 */
export default function build({ tf, size = "full", batch }) {
  const { pixels, channels, depth, batch: usualBatch } = sizes[size];
  const count = batch ?? usualBatch;
  return {
    name: "U-Net",
    model: uNet(tf, { pixels, channels, depth }),
    inputs: tf.randomUniform([count, pixels, pixels, 3]),
    targets: tf.tidy(() => tf.cast(tf.randomUniformInt([count, pixels, pixels, 1], 0, 2, 1), "float32")),
    loss: (probabilities, mask) => tf.mean(tf.metrics.binaryCrossentropy(mask, probabilities)),
  };
}

function uNet(tf, { pixels, channels, depth }) {
  const { layers } = tf;

  const doubleConv = (name, filters, x) => {
    const options = { filters, kernelSize: 3, padding: "same", activation: "relu", kernelInitializer: "heNormal" };
    const once = layers.conv2d({ name: `${name}_conv1`, ...options }).apply(x);
    return layers.conv2d({ name: `${name}_conv2`, ...options }).apply(once);
  };

  const image = tf.input({ name: "image", shape: [pixels, pixels, 3] });
  const skips = [];
  let x = image;
  for (let level = 1; level <= depth; level++) {
    const skip = doubleConv(`down${level}`, channels * 2 ** (level - 1), x);
    skips.push(skip);
    x = layers.maxPooling2d({ name: `down${level}_pool`, poolSize: 2 }).apply(skip);
  }
  x = doubleConv("middle", channels * 2 ** depth, x);
  x = layers.dropout({ name: "middle_dropout", rate: 0.5 }).apply(x);
  for (let level = depth; level >= 1; level--) {
    const filters = channels * 2 ** (level - 1);
    const up = layers
      .conv2dTranspose({ name: `up${level}_up`, filters, kernelSize: 2, strides: 2, padding: "same" })
      .apply(x);
    const joined = layers.concatenate({ name: `up${level}_join` }).apply([up, skips[level - 1]]);
    x = doubleConv(`up${level}`, filters, joined);
  }
  const mask = layers.conv2d({ name: "mask", filters: 1, kernelSize: 1, activation: "sigmoid" }).apply(x);
  return tf.model({ name: "u_net", inputs: image, outputs: mask });
}
