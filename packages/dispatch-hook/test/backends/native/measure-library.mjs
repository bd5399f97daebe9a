// The child of library-bytes.test.ts: runs each op alone, and tells by how much what was resident at most meanwhile is more than before, and than its results.
import { readFileSync, writeFileSync } from "node:fs";
import * as tf from "@tensorflow/tfjs";
import { loadNative } from "../load-native.mjs";

loadNative();
await tf.setBackend("tensorflow");

const names = {
  Conv2D: ["x", "filter"],
  Conv2DBackpropFilter: ["x", "dy"],
  Conv2DBackpropInput: ["dy", "filter"],
  BatchMatMul: ["a", "b"],
  MaxPoolGrad: ["dy", "input", "output"],
};
const padded = { pad: "same", dataFormat: "NHWC", dilations: [1, 1] };
const attributesOf = ({ kernel, inputs, outputs }) =>
  ({
    Conv2D: { ...padded, pad: "valid", strides: inputs[1][0] === 1 ? [1, 1] : [2, 2] },
    Conv2DBackpropFilter: { ...padded, strides: [1, 1], filterShape: outputs[0] },
    Conv2DBackpropInput: { ...padded, strides: [1, 1], inputShape: outputs[0] },
    BatchMatMul: { transposeA: inputs[0][1] !== outputs[0][1], transposeB: false },
    MaxPoolGrad: { filterSize: [3, 3], strides: [2, 2], pad: "same" },
  })[kernel];

const residentBytes = (field) =>
  1024 * Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(readFileSync("/proc/self/status", "utf8"))[1]);

const measured = JSON.parse(process.argv[2]).map((op) => {
  const inputs = op.inputs.map((shape) => tf.fill(shape, 1));
  const named = Object.fromEntries(inputs.map((x, i) => [names[op.kernel][i], x]));
  const run = () => tf.engine().runKernel(op.kernel, named, attributesOf(op));
  // Code is loaded, and made, once.
  run().dispose();
  const bytes = [0, 1].map(() => {
    globalThis.gc();
    // VmHWM is counted from here on.
    writeFileSync("/proc/self/clear_refs", "5");
    const before = residentBytes("VmRSS");
    const made = run();
    const most = residentBytes("VmHWM");
    const results = 4 * made.size;
    made.dispose();
    return most - before - results;
  });
  tf.dispose(inputs);
  return Math.max(...bytes);
});
console.log(JSON.stringify(measured));
