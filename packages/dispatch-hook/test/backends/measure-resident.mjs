// The child of resident-memory.test.ts: runs one kernel several times, keeps the results, and tells by how much resident memory has grown.
import * as tf from "@tensorflow/tfjs";
import "@tensorflow/tfjs-backend-wasm";
import { loadNative } from "./load-native.mjs";

const { backend, kernel, input = "x", shape, dtype = "float32", attributes, results } = JSON.parse(process.argv[2]);
if (backend === "tensorflow") loadNative();
await tf.setBackend(backend);

const x = tf.fill(shape, 1, dtype);
const run = () => tf.engine().runKernel(kernel, { [input]: x }, attributes);
// The first call allocates permanent code and tables, which are not part of its results.
const kept = [run()];
const before = process.memoryUsage.rss();
let bytes = 0;
for (let i = 0; i < results; i++) {
  const made = [run()].flat();
  bytes += made.reduce((sum, { size, dtype: made }) => sum + size * tf.util.bytesPerElement(made), 0);
  kept.push(made);
}
console.log(JSON.stringify({ bytes, grownBytes: process.memoryUsage.rss() - before }));
