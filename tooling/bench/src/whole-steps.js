import { deviceSpec, priceTrace } from "@remat/runtime-estimator";
import { traceFakeStep } from "@remat/tracer";
import resnet50 from "../../../examples/resnet50/model.js";
import { buildTransformer } from "../../../examples/transformer/model.js";

/**
 * Whole training steps, traced in fake mode with times estimated for a device, by default an A100, and with the
 * optimizers of their papers. (tfjs's Adam keeps its temporaries for all weights until the last, 1.5 GB for ResNet-50,
 * which no plan of the pass changes.)
 */
export const wholeSteps = {
  "ResNet-50": (device) => stepOf(resnet50, "momentum", device),
  "DenseNet-121": (device) => stepOf(densenet121, "momentum", device),
  "transformer of 48 layers": (device) => stepOf(transformer48, "adam", device),
};

async function stepOf(build, optimizer, device = "a100") {
  return priceTrace(await traceFakeStep(build, { optimizer, stepsBefore: 0, loss: "sum" }), deviceSpec(device));
}

function transformer48(args) {
  const config = { layers: 48, heads: 12, vocabulary: 8192, positions: 1024, width: 768, dropoutRate: 0.1, batch: 8 };
  return buildTransformer({ config, ...args });
}

/** DenseNet-121 (Huang et al. 2017) as in Keras: growth 32, blocks of 6, 12, 24 and 16 layers, halving transitions. */
function densenet121({ tf, batch = 8 }) {
  const { layers } = tf;
  const normalize = (x, name) =>
    layers
      .activation({ activation: "relu", name: `${name}_relu` })
      .apply(layers.batchNormalization({ name: `${name}_bn` }).apply(x));
  const convolve = (x, filters, kernelSize, name, strides = 1) =>
    layers.conv2d({ filters, kernelSize, strides, padding: "same", useBias: false, name }).apply(x);
  const input = tf.input({ shape: [224, 224, 3] });
  let x = normalize(convolve(input, 64, 7, "conv1", 2), "conv1");
  x = layers.maxPooling2d({ poolSize: 3, strides: 2, padding: "same", name: "pool1" }).apply(x);
  for (const [b, count] of [6, 12, 24, 16].entries()) {
    for (let i = 0; i < count; i++) {
      const name = `conv${b + 2}_block${i + 1}`;
      const narrow = convolve(normalize(x, `${name}_0`), 128, 1, `${name}_1_conv`);
      const grown = convolve(normalize(narrow, `${name}_1`), 32, 3, `${name}_2_conv`);
      x = layers.concatenate({ name: `${name}_concat` }).apply([x, grown]);
    }
    if (b === 3) break;
    x = convolve(normalize(x, `pool${b + 2}`), x.shape[3] / 2, 1, `pool${b + 2}_conv`);
    x = layers.averagePooling2d({ poolSize: 2, strides: 2, name: `pool${b + 2}_pool` }).apply(x);
  }
  x = layers.globalAveragePooling2d({ name: "avg_pool" }).apply(normalize(x, "last"));
  const output = layers.dense({ units: 1000, activation: "softmax", name: "predictions" }).apply(x);
  const model = tf.model({ inputs: input, outputs: output, name: "DenseNet-121" });
  return { model, inputs: tf.zeros([batch, 224, 224, 3]) };
}
