// Measures the cost of watching for leaks: in steps of a tiny model on cpu, with no leak and with one leaking tensor, and
// in steps of MobileNetV2 at batch 8 on native, if NATIVE_APP names a folder that has it. Also measures heap growth over a
// million steps. CPU times are measured in the order unmodified, watched, watched, unmodified, so that other work on the
// machine affects both equally.
// Usage: node tooling/bench/leaks.js [tiny] [leaking] [million] [native]
// The default is all but million.
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { restoreUtil } from "@remat/dispatch-hook/backends/node";
import { LeakWatch } from "@remat/leaks";
import * as tf from "@tensorflow/tfjs";
import { median, timeOnce } from "./src/measure.js";
import { report } from "./src/report.js";

const boundTiny = 25;
const boundMobileNet = 10;
const boundBytes = 50 * 2 ** 20;
/** Work done once in the first periods (stacks, six heap censuses) is not part of a step, nor is its garbage. */
const warmSteps = 700;

/** A step of a model with two small layers, about 60 ops. */
function tinyStep() {
  const weights = [tf.variable(tf.randomNormal([16, 32])), tf.variable(tf.randomNormal([32, 4]))];
  const optimizer = tf.train.adam(0.001);
  const x = tf.randomNormal([8, 16]);
  return () => optimizer.minimize(() => x.matMul(weights[0]).relu().matMul(weights[1]).square().mean(), false, weights);
}

async function mobileNetStep() {
  const topology = readFileSync(new URL("../../examples/keras/mobilenet_v2.model.json", import.meta.url), "utf8");
  const { modelTopology = JSON.parse(topology) } = JSON.parse(topology);
  const model = await tf.models.modelFromJSON(modelTopology);
  model.compile({ optimizer: tf.train.sgd(0.01), loss: "meanSquaredError" });
  const x = tf.randomNormal([8, ...model.inputs[0].shape.slice(1)]);
  const y = tf.randomNormal([8, ...model.outputs[0].shape.slice(1)]);
  return () => model.trainOnBatch(x, y);
}

/** Ratio to the baseline: the median over rounds of four consecutive measurements. */
async function compare(what, step, { rounds, steps, warm, bound }) {
  const many = async (count) => {
    for (let i = 0; i < count; i++) await step();
  };
  const stock = () => timeOnce(() => many(steps));
  const watched = async () => {
    const watch = new LeakWatch();
    await many(warm);
    const time = await timeOnce(() => many(steps));
    watch.close();
    return time;
  };
  await stock();
  await watched();
  const over = { wallMs: [], cpuMs: [] };
  for (let round = 0; round < rounds; round++) {
    const turns = [await stock(), await watched(), await watched(), await stock()];
    for (const measure of ["wallMs", "cpuMs"]) {
      const [a, b, c, d] = turns.map((time) => time[measure]);
      over[measure].push(100 * ((b + c) / (a + d) - 1));
    }
  }
  const [value, cpu] = [median(over.wallMs), median(over.cpuMs)];
  report({ what: `leaks: over a step of ${what}`, value, cpu, unit: "%", runs: 2 * rounds, bound });
}

const asked = process.argv.slice(2);
const wants = (part) => asked.includes(part) || (asked.length === 0 && part !== "million");

await tf.setBackend("cpu");
const tiny = tinyStep();
const clean = { rounds: 7, steps: 300, warm: warmSteps, bound: boundTiny };
if (wants("tiny")) await compare("a tiny model", tiny, clean);
if (wants("leaking")) await compare("a tiny model that leaks one tensor", () => (tiny(), tf.ones([4])), clean);

if (wants("million")) {
  const x = tf.ones([4]);
  const step = () => tf.tidy(() => void x.add(1));
  const bytesOf = () => (globalThis.gc?.(), process.memoryUsage().heapUsed);
  for (let i = 0; i < 1000; i++) step();
  const before = bytesOf();
  const watch = new LeakWatch({ findsPeriods: false });
  for (let i = 0; i < 1_000_000; i++) {
    step();
    if (i % 10 === 0) tf.keep(tf.scalar(i)).dispose();
    watch.endPeriod("step");
  }
  report({
    what: "leaks: heap after a million watched steps, over before",
    value: bytesOf() - before,
    unit: "B",
    runs: 1,
    bound: boundBytes,
  });
  watch.close();
}

const app = process.env.NATIVE_APP;
if (app !== undefined && wants("native")) {
  const name = ["tfjs-node-gpu", "tfjs-node"].find((each) => existsSync(join(app, "node_modules/@tensorflow", each)));
  restoreUtil();
  createRequire(join(app, "package.json"))(`@tensorflow/${name}`);
  await tf.setBackend("tensorflow");
  const settings = { rounds: 5, steps: 2, warm: 4, bound: boundMobileNet };
  await compare("MobileNetV2, batch 8, on native", await mobileNetStep(), settings);
}
