import { join } from "node:path";
import { writeMnist, writeReviews, writeTable, writeText } from "./made-up-data.js";

/** A column of a table by its name: values between two bounds, or this many classes. */
const between = (from, to) => (random) => from + (to - from) * random();
const classes = (count) => (random) => Math.floor(count * random());

const weatherColumns = {
  '"Date Time"': (_, row) => {
    const [date, time] = new Date(Date.UTC(2009, 0, 1, 0, 10 * row)).toISOString().split("T");
    return `${date.split("-").reverse().join(".")} ${time.slice(0, 8)}`;
  },
  ...Object.fromEntries(
    ["p (mbar)", "T (degC)", "Tpot (K)", "Tdew (degC)", "rh (%)", "VPmax (mbar)", "VPact (mbar)", "VPdef (mbar)"]
      .concat(["sh (g/kg)", "H2OC (mmol/mol)", "rho (g/m**3)", "wv (m/s)", "max. wv (m/s)", "wd (deg)"])
      .map((name) => [`"${name}"`, between(0, 30)]),
  ),
};
const abaloneColumns = {
  sex: (random) => "MFI"[classes(3)(random)],
  ...Object.fromEntries(
    ["length", "diameter", "height", "whole", "shucked", "viscera", "shell"].map((name) => [name, between(0, 1)]),
  ),
  rings: classes(29),
};
const pitchColumns = {
  ...Object.fromEntries(["vx0", "vy0", "vz0", "ax", "ay", "az", "start_speed"].map((name) => [name, between(-50, 50)])),
  left_handed_pitcher: classes(2),
  pitch_code: classes(7),
};
const strikeColumns = {
  ...Object.fromEntries(["px", "pz", "sz_top", "sz_bot"].map((name) => [name, between(-2, 4)])),
  left_handed_batter: classes(2),
  is_strike: classes(2),
};

/**
 * A program as downloaded.
 *
 * @typedef {object} PublicProgram
 * @property {string} name
 * @property {string} file in FOLDER, or in `entries/` here
 * @property {boolean} [isEntry]
 * @property {readonly string[]} [args]
 * @property {Readonly<Record<string, string>>} [modules] for each module name that it imports, the name of the
 * installed module, or its path from `./` in FOLDER
 * @property {(folder: string) => void} [writeData] writes into the folder that it runs in
 * @property {Readonly<Record<string, string>>} [fields] of its web page, by id
 * @property {number} passes after which it is stopped
 */

/** @type {readonly PublicProgram[]} */
export const publicPrograms = [
  { name: "gpt-tfjs, 6 × 192, batch 8", file: "gpt-tfjs.cjs", isEntry: true, passes: 12 },
  {
    name: "DISCO's GPT, 6 × 192, AdamW, batch 8",
    file: "disco-gpt.js",
    isEntry: true,
    modules: { "disco-gpt": "./disco/discojs/src/models/gpt/model.ts", "@tensorflow/tfjs": "@tensorflow/tfjs-node" },
    passes: 12,
  },
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
    passes: 40,
  },
  {
    name: "snake-dqn, batch 64",
    file: "tfjs-examples/snake-dqn/train.js",
    args: ["--replayBufferSize", "1000"],
    passes: 60,
  },
  {
    name: "fashion-mnist-vae, batch 256",
    file: "tfjs-examples/fashion-mnist-vae/train.js",
    writeData: (folder) => writeMnist(join(folder, "dataset"), 3000),
    passes: 60,
  },
  {
    name: "jena-weather, GRU of 40 steps, batch 128",
    file: "tfjs-examples/jena-weather/train-rnn.js",
    args: ["--lookBack", "240"],
    writeData: (folder) => writeTable(folder, "jena_climate_2009_2016.csv", weatherColumns, 300_000),
    passes: 40,
  },
  {
    name: "mnist-node, batch 128",
    file: "tfjs-examples/mnist-node/main.js",
    modules: { argparse: "argparse2" },
    writeData: writeMnist,
    passes: 40,
  },
  {
    name: "quantization, mnist with dropout, batch 128",
    file: "tfjs-examples/quantization/train_mnist.js",
    args: ["mnist"],
    writeData: (folder) => writeMnist(join(folder, "data-mnist")),
    passes: 40,
  },
  {
    name: "abalone-node, batch 500",
    file: "tfjs-examples/abalone-node/train.js",
    writeData: (folder) => writeTable(folder, "abalone.csv", abaloneColumns, 4177),
    passes: 500,
  },
  {
    name: "baseball-node, pitch type, batch 100",
    file: "tfjs-examples/baseball-node/train_pitch_type.js",
    writeData: (folder) => writeTable(folder, "pitch_type_training_data.csv", pitchColumns, 7000),
    passes: 500,
  },
  {
    name: "baseball-node, strike zone, batch 50",
    file: "tfjs-examples/baseball-node/train_strike_zone.js",
    writeData: (folder) => writeTable(folder, "strike_zone_training_data.csv", strikeColumns, 2000),
    passes: 500,
  },
  {
    name: "sentiment, convolution over words, batch 128",
    file: "tfjs-examples/sentiment/train.js",
    args: ["cnn"],
    writeData: writeReviews,
    passes: 24,
  },
  {
    name: "sentiment, bidirectional LSTM of 100 steps, batch 128",
    file: "tfjs-examples/sentiment/train.js",
    args: ["bidirectionalLSTM"],
    writeData: writeReviews,
    passes: 24,
  },
  {
    name: "addition-rnn, sequence to sequence, batch 128",
    file: "tfjs-examples/addition-rnn/index.js",
    modules: { "@tensorflow/tfjs": "@tensorflow/tfjs-node" },
    fields: {
      digits: "2",
      trainingSize: "3000",
      rnnType: "LSTM",
      rnnLayers: "1",
      rnnLayerSize: "128",
      batchSize: "128",
      trainIterations: "5",
      numTestExamples: "10",
    },
    passes: 16,
  },
];
