import { writeMnist, writeText } from "./made-up-data.js";

/**
 * A program as it was fetched.
 *
 * @typedef {object} PublicProgram
 * @property {string} name
 * @property {string} file in FOLDER, or in `entries/` here
 * @property {boolean} [isEntry]
 * @property {readonly string[]} [args]
 * @property {(folder: string) => void} [writeData] into the folder that it runs in
 * @property {number} passes after which it is ended
 */

/** @type {readonly PublicProgram[]} */
export const publicPrograms = [
  { name: "gpt-tfjs, 6 × 192, batch 8", file: "gpt-tfjs.cjs", isEntry: true, passes: 12 },
  {
    name: "lstm-text-generation, 128,128, batch 128",
    file: "tfjs-examples/lstm-text-generation/train_node.js",
    args: ["text.txt", "--lstmLayerSize", "128,128", "--epochs", "9", "--examplesPerEpoch", "1366"],
    writeData: writeText,
    passes: 16,
  },
  {
    name: "mnist-acgan, batch 50",
    file: "tfjs-examples/mnist-acgan/gan.js",
    args: ["--batchSize", "50"],
    writeData: writeMnist,
    passes: 20,
  },
  {
    name: "date-conversion-attention, batch 256",
    file: "tfjs-examples/date-conversion-attention/train.js",
    args: ["--batchSize", "256"],
    passes: 20,
  },
  {
    name: "snake-dqn, batch 64",
    file: "tfjs-examples/snake-dqn/train.js",
    args: ["--replayBufferSize", "1000"],
    passes: 20,
  },
];
