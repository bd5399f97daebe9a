// What it costs to be watched for leaks: steps of a tiny model on cpu, stock and watched in turns, where nothing leaks and where one tensor does, and what a
// million steps leave in the heap. Usage: node tooling/bench/leaks.js [--million]
import { LeakWatch } from "@remat/leaks";
import * as tf from "@tensorflow/tfjs";
import { median, timeOnce } from "./src/measure.js";
import { report } from "./src/report.js";

const boundTiny = 25;
const boundBytes = 50 * 2 ** 20;

/** A step of a model of two small layers, of some 60 ops. */
function tinyStep() {
  const weights = [tf.variable(tf.randomNormal([16, 32])), tf.variable(tf.randomNormal([32, 4]))];
  const optimizer = tf.train.adam(0.001);
  const x = tf.randomNormal([8, 16]);
  return () => optimizer.minimize(() => x.matMul(weights[0]).relu().matMul(weights[1]).square().mean(), false, weights);
}

/** Over stock, in turns, so that other work on the machine slows both alike. */
async function compare(what, step, { rounds, steps, bound }) {
  const times = { stock: [], watched: [] };
  const many = () => {
    for (let i = 0; i < steps; i++) step();
  };
  many();
  const watched = new LeakWatch();
  many();
  watched.close();
  for (let round = 0; round < rounds; round++) {
    times.stock.push(await timeOnce(many));
    const watch = new LeakWatch();
    // What is looked at once, in the first periods, is no part of a step.
    for (let i = 0; i < Math.min(steps, 130); i++) step();
    times.watched.push(await timeOnce(many));
    watch.close();
  }
  const of = (name, measure) => median(times[name].map((time) => time[measure]));
  const over = (measure) => 100 * (of("watched", measure) / of("stock", measure) - 1);
  report({
    what: `leaks: over a step of ${what}`,
    value: over("wallMs"),
    cpu: over("cpuMs"),
    unit: "%",
    runs: rounds,
    bound,
  });
}

await tf.setBackend("cpu");
const tiny = tinyStep();
const clean = { rounds: 15, steps: 300, bound: boundTiny };
await compare("a tiny model", tiny, clean);
await compare("a tiny model that leaks one tensor", () => (tiny(), tf.ones([4])), clean);

if (process.argv.includes("--million")) {
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
