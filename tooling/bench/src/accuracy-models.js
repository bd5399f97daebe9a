import { fileURLToPath } from "node:url";
import { attend, moduleKit } from "../../../examples/modules.js";

const example = (name) => fileURLToPath(new URL(`../../../examples/${name}/model.js`, import.meta.url));
const load = async (name) => (await import(example(name))).default;

/** Classes and their loss, as most of these models are trained. */
const classify = (tf, count, classes) => ({
  targets: tf.tidy(() => tf.cast(tf.oneHot(tf.randomUniformInt([count], 0, classes, 1), classes), "float32")),
  loss: (probabilities, wanted) => tf.mean(tf.metrics.categoricalCrossentropy(wanted, probabilities)),
});

function bertLike({ tf, batch, scope, tokens = 64, width = 128, depth = 4, heads = 4 }) {
  const kit = moduleKit({ tf, scope });
  const embed = kit.embedding("tokens", 1000, width);
  const blocks = Array.from({ length: depth }, (_, i) => encoderBlock(tf, kit, `block${i}`, width, heads));
  const head = kit.linear("head", width, 2);
  return {
    name: "BERT-like",
    parameters: kit.parameters,
    inputs: tf.randomUniformInt([batch, tokens], 0, 1000, 1),
    forward: (ids) =>
      head(
        tf.mean(
          blocks.reduce((x, block) => block(x), embed(ids)),
          1,
        ),
      ),
    targets: tf.tidy(() => tf.cast(tf.oneHot(tf.randomUniformInt([batch], 0, 2, 1), 2), "float32")),
    loss: (logits, wanted) => tf.losses.softmaxCrossEntropy(wanted, logits),
  };
}

function visionTransformer({ tf, batch, scope, pixels = 64, patch = 8, width = 96, depth = 4, heads = 3 }) {
  const kit = moduleKit({ tf, scope });
  const count = (pixels / patch) ** 2;
  const project = kit.linear("patches", patch * patch * 3, width);
  const positions = kit.parameter("positions", tf.randomNormal([count, width], 0, 0.02));
  const blocks = Array.from({ length: depth }, (_, i) => encoderBlock(tf, kit, `block${i}`, width, heads));
  const head = kit.linear("head", width, 10);
  return {
    name: "ViT",
    parameters: kit.parameters,
    inputs: tf.randomUniform([batch, pixels, pixels, 3]),
    forward: (images) => {
      const side = pixels / patch;
      const patches = tf.transpose(tf.reshape(images, [batch, side, patch, side, patch * 3]), [0, 1, 3, 2, 4]);
      const x = tf.add(project(tf.reshape(patches, [batch, count, patch * patch * 3])), positions);
      return head(
        tf.mean(
          blocks.reduce((y, block) => block(y), x),
          1,
        ),
      );
    },
    targets: tf.tidy(() => tf.cast(tf.oneHot(tf.randomUniformInt([batch], 0, 10, 1), 10), "float32")),
    loss: (logits, wanted) => tf.losses.softmaxCrossEntropy(wanted, logits),
  };
}

/** Attention and a perceptron, each behind a layer norm, with residual connections. */
function encoderBlock(tf, kit, name, width, heads) {
  const [norm1, norm2] = ["norm1", "norm2"].map((norm) => kit.layerNorm(`${name}.${norm}`, width));
  const [query, key, value, out] = ["q", "k", "v", "out"].map((part) => kit.linear(`${name}.${part}`, width, width));
  const [up, down] = [kit.linear(`${name}.up`, width, 4 * width), kit.linear(`${name}.down`, 4 * width, width)];
  const split = (x) => tf.transpose(tf.reshape(x, [x.shape[0], x.shape[1], heads, width / heads]), [0, 2, 1, 3]);
  return (x) => {
    const y = norm1(x);
    const attended = attend(tf, {
      queries: split(query(y)),
      keys: split(key(y)),
      values: split(value(y)),
      mask: tf.scalar(0),
      dropoutRate: 0,
      training: true,
    });
    const z = tf.add(x, out(tf.reshape(tf.transpose(attended, [0, 2, 1, 3]), x.shape)));
    return tf.add(z, down(tf.relu(up(norm2(z)))));
  };
}

function smallUNet({ tf, batch, pixels = 64, channels = 16 }) {
  const { layers } = tf;
  const conv = (filters, x) => layers.conv2d({ filters, kernelSize: 3, padding: "same", activation: "relu" }).apply(x);
  const inputs = tf.input({ shape: [pixels, pixels, 3] });
  const skips = [];
  let x = inputs;
  for (let depth = 0; depth < 3; depth++) {
    x = conv(channels << depth, conv(channels << depth, x));
    skips.push(x);
    x = layers.maxPooling2d({ poolSize: 2 }).apply(x);
  }
  x = conv(channels << 3, x);
  for (let depth = 2; depth >= 0; depth--) {
    x = layers.concatenate().apply([layers.upSampling2d({}).apply(x), skips[depth]]);
    x = conv(channels << depth, conv(channels << depth, x));
  }
  const outputs = layers.conv2d({ filters: 1, kernelSize: 1, activation: "sigmoid" }).apply(x);
  return {
    name: "U-Net",
    model: tf.model({ inputs, outputs }),
    inputs: tf.randomUniform([batch, pixels, pixels, 3]),
    targets: tf.tidy(() => tf.cast(tf.randomUniformInt([batch, pixels, pixels, 1], 0, 2, 1), "float32")),
    loss: (probabilities, mask) => tf.mean(tf.metrics.binaryCrossentropy(mask, probabilities)),
  };
}

/** glorotNormal, because tfjs-layers takes seconds for the default, an orthogonal matrix. */
const recurrent = { recurrentInitializer: "glorotNormal" };

function bidirectionalGru({ tf, batch, steps = 24, features = 32, units = 64 }) {
  const model = tf.sequential({
    layers: [
      tf.layers.bidirectional({
        layer: tf.layers.gru({ units, ...recurrent }),
        mergeMode: "concat",
        inputShape: [steps, features],
      }),
      tf.layers.dense({ units: 8, activation: "softmax" }),
    ],
  });
  return { name: "BiGRU", model, inputs: tf.randomUniform([batch, steps, features]), ...classify(tf, batch, 8) };
}

function embeddedLstm({ tf, batch, steps = 24, units = 64 }) {
  const model = tf.sequential({
    layers: [
      tf.layers.embedding({ inputDim: 1000, outputDim: 64, inputLength: steps }),
      tf.layers.lstm({ units, ...recurrent }),
      tf.layers.dense({ units: 8, activation: "softmax" }),
    ],
  });
  const inputs = tf.tidy(() => tf.cast(tf.randomUniformInt([batch, steps], 0, 1000, 1), "float32"));
  return { name: "LSTM", model, inputs, ...classify(tf, batch, 8) };
}

/**
 * Models that no calibration measures. Batches suit one backend each: on `cpu`, the pure JavaScript backend, one image of
 * 224 × 224 takes minutes, so image models have a smaller size there.
 */
export const accuracyModels = [
  { key: "mobilenet_v1", load: () => load("mobilenet-v1"), batch: 2, kind: "images", small: { size: "tiny" } },
  { key: "mobilenet_v2", load: () => load("mobilenet-v2"), batch: 2, kind: "images", small: { size: "tiny" } },
  { key: "resnet50", load: () => load("resnet50"), batch: 1, kind: "images", small: { size: "tiny", batch: 1 } },
  { key: "bert-like", load: async () => bertLike, batch: 4, kind: "text", optimizer: "adam", small: { batch: 1 } },
  { key: "u-net", load: async () => smallUNet, batch: 4, kind: "images", small: { batch: 1 } },
  { key: "bigru", load: async () => bidirectionalGru, batch: 8, kind: "recurrent", small: {} },
  { key: "lstm", load: async () => embeddedLstm, batch: 8, kind: "recurrent", without: ["wasm"], small: {} },
  { key: "vit", load: async () => visionTransformer, batch: 4, kind: "images", small: { batch: 1 } },
];
