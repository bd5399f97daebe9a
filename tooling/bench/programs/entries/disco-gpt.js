// DISCO's language model, which its web page trains: its own `fitDataset`, with its AdamW and clipped gradients, on
// generated tokens.
import * as tf from "@tensorflow/tfjs-node";
import { GPTForCausalLM } from "disco-gpt";

const config = { modelType: "gpt-mini", vocabSize: 512, blockSize: 64, maxIter: 1000, weightDecay: 0.01 };
const batchSize = 8;
const tokens = () =>
  Array.from({ length: batchSize }, () =>
    Array.from({ length: config.blockSize + 1 }, () => Math.floor(Math.random() * config.vocabSize)),
  );
function* batches() {
  for (;;) {
    const made = tokens();
    const next = made.map((row) => row.slice(1));
    yield {
      xs: tf.tensor2d(made.map((row) => row.slice(0, -1))),
      ys: tf.tidy(() => tf.oneHot(tf.tensor2d(next, undefined, "int32"), config.vocabSize)),
    };
  }
}
const model = new GPTForCausalLM(config);
model.compile();
void model.fitDataset(tf.data.generator(batches), { epochs: 1, callbacks: {} });
