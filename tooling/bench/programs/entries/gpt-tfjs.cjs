// Trains the model of gpt-tfjs on made-up text, because the repository has no program with data of this size.
const { join } = require("node:path");
const tf = require("@tensorflow/tfjs-node");
const { model } = require(join(process.env.REMAT_PROGRAMS, "gpt-tfjs"));

const config = { nLayer: 6, nHead: 6, nEmbd: 192, vocabSize: 96, blockSize: 128, dropout: 0.1, debug: false };
const token = () => Math.floor(Math.random() * config.vocabSize);
function* texts() {
  for (let i = 0; i < 256; i++) {
    const text = Array.from({ length: config.blockSize + 1 }, token);
    yield { x: text.slice(0, -1), y: text.slice(1) };
  }
}
// A shuffle buffer of one keeps the order. `train` does not accept `false` for this.
const dataset = tf.data.generator(texts).map(({ x, y }) => ({
  x: tf.cast(x, "int32"),
  y: tf.oneHot(tf.cast(y, "int32"), config.vocabSize),
}));
void model.GPTLMHeadModel(config).train(dataset, { maxIter: 1000, batchSize: 8, shuffle: 1 });
