// Proves the table of kernels that share buffers on native by resident memory: every case in a process of its own, on tensors so big that the
// allocator takes them from the system. Needs tfjs-node with its addon in the folder NATIVE_APP, and this package built:
//   NATIVE_APP=/path/to/app node checks/native-sharing.js
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { restoreUtil } from "@remat/dispatch-hook/backends/node";

const rows = 2048;
const columns = 4096;
const repeats = 4;

/** Kernel, shape of x, attributes; `dtype` other than float32, `list` for kernels that take a list. */
const cases = [
  ["Identity", [rows, columns], {}],
  ["Reshape", [rows, columns], { shape: [rows * columns] }],
  ["ExpandDims", [rows, columns], { dim: 0 }, { input: "input" }],
  ["Cast", [rows, columns], { dtype: "float32" }],
  ["Cast", [rows, columns], { dtype: "int32" }],
  ["Transpose", [rows, 1, columns], { perm: [1, 0, 2] }],
  ["Transpose", [rows, columns], { perm: [0, 1] }],
  ["Transpose", [rows, columns], { perm: [1, 0] }],
  ["Unpack", [2, rows / 2, columns], { axis: 0 }, { input: "value" }],
  ["Unpack", [rows / 2, 2, columns], { axis: 1 }, { input: "value" }],
  ["Unpack", [2, (rows / 2) * columns + 8], { axis: 0 }, { input: "value" }],
  ["SplitV", [rows, columns], { numOrSizeSplits: [1000, rows - 1000], axis: 0 }],
  ["SplitV", [rows, columns], { numOrSizeSplits: 2, axis: 1 }],
  ["SplitV", [rows, columns], { numOrSizeSplits: 1, axis: 1 }],
  ["SplitV", [2, (rows / 2) * columns + 8], { numOrSizeSplits: 2, axis: 0 }],
  ["Slice", [rows, columns], { begin: [0, 0], size: [rows, columns] }],
  ["Slice", [rows, columns], { begin: [1, 0], size: [rows - 2, columns] }],
  ["Slice", [rows, columns], { begin: [0, 1], size: [rows, columns - 2] }],
  ["Slice", [rows, columns + 8], { begin: [1, 0], size: [rows - 2, columns + 8] }],
  ["Slice", [rows * columns], { begin: [16], size: [rows * columns - 32] }],
  ["Slice", [rows * columns], { begin: [8], size: [rows * columns - 32] }],
  ["Slice", [rows * columns], { begin: [16], size: [rows * columns - 24] }],
  ["StridedSlice", [rows, columns], strided([1, 0], [rows - 1, columns])],
  ["StridedSlice", [rows, columns], strided([0, 0], [rows, columns])],
  ["StridedSlice", [rows, columns], strided([0, 1], [rows, columns])],
  ["Tile", [rows, columns], { reps: [1, 1] }],
  ["PadV2", [rows, columns], { paddings: [[0, 0], [0, 0]], constantValue: 0 }], // biome-ignore format: one case a line
  ["PadV2", [rows, columns], { paddings: [[0, 0], [0, 1]], constantValue: 0 }], // biome-ignore format: one case a line
  ["MirrorPad", [rows, columns], { paddings: [[0, 0], [0, 0]], mode: "reflect" }], // biome-ignore format: one case a line
  ["BatchToSpaceND", [rows, 4, 4, columns / 16], { blockShape: [1, 1], crops: [[0, 0], [0, 0]] }], // biome-ignore format: one case a line
  ["SpaceToBatchND", [rows, 4, 4, columns / 16], { blockShape: [1, 1], paddings: [[0, 0], [0, 0]] }], // biome-ignore format: one case a line
  ["SpaceToBatchND", [rows, 4, 4, columns / 16], { blockShape: [2, 2], paddings: [[0, 0], [0, 0]] }], // biome-ignore format: one case a line
  ["AddN", [rows, columns], {}, { list: true }],
  ["Pack", [rows, columns], { axis: 0 }, { list: true }],
  ["Einsum", [rows, columns], { equation: "ij->ij" }, { list: true }],
  ["Einsum", [rows, columns], { equation: "ij->ji" }, { list: true }],
  ["Reverse", [rows, columns], { dims: [] }],
  ["Sum", [rows, columns], { axis: [], keepDims: false }],
  ["Sum", [rows, 1, columns], { axis: [1], keepDims: false }],
  ["Mean", [rows, 1, columns], { axis: [1], keepDims: false }],
  ["Max", [rows, 1, columns], { reductionIndices: [1], keepDims: false }],
  ["Min", [rows, 1, columns], { axis: [1], keepDims: false }],
  ["Prod", [rows, 1, columns], { axis: [1], keepDims: true }],
  ["Any", [rows, 1, columns * 4], { axis: [1], keepDims: false }, { dtype: "bool" }],
  ["All", [rows, 1, columns * 4], { axis: [1], keepDims: false }, { dtype: "bool" }],
  ["Relu", [rows, columns], {}],
  ["Square", [rows, columns], {}],
  ["ZerosLike", [rows, columns], {}],
  ["MaxPool", [4, 128, 128, 128], { filterSize: 1, strides: 1, pad: "valid" }],
  ["AvgPool", [4, 128, 128, 128], { filterSize: 1, strides: 1, pad: "valid" }],
  ["FlipLeftRight", [4, 128, 128, 128], {}, { input: "image" }],
];

function strided(begin, end) {
  const masks = { beginMask: 0, endMask: 0, ellipsisMask: 0, newAxisMask: 0, shrinkAxisMask: 0 };
  return { begin, end, strides: begin.map(() => 1), ...masks };
}

/** In the child: how much resident memory grows by results that are kept, as a part of their bytes. */
function measure([kernel, shape, attributes, { input = "x", dtype = "float32", list = false } = {}]) {
  const require = createRequire(join(process.env.NATIVE_APP, "package.json"));
  restoreUtil();
  const packages = readdirSync(join(process.env.NATIVE_APP, "node_modules/@tensorflow"));
  const tf = require(`@tensorflow/${packages.find((name) => name.startsWith("tfjs-node"))}`);
  const residentBytes = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]) * 1024;
  const x = tf.fill(shape, 1, dtype);
  const run = () => tf.engine().runKernel(kernel, list ? [x] : { [input]: x }, attributes);
  // What the first run needs for good, threads and workspaces, is not the result's.
  const kept = [run()];
  const before = residentBytes();
  for (let i = 0; i < repeats; i++) kept.push(run());
  const grown = residentBytes() - before;
  const bytes = kept
    .slice(1)
    .flat()
    .reduce((sum, t) => sum + t.size * (t.dtype === "bool" ? 1 : 4), 0);
  return grown / bytes;
}

async function main() {
  const { sharedBuffers } = await import("../dist/index.js");
  let wrong = 0;
  for (const [
    index,
    [kernel, shape, attributes, { input = "x", dtype = "float32", list = false } = {}],
  ] of cases.entries()) {
    const child = spawnSync(process.execPath, [fileURLToPath(import.meta.url), String(index)], {
      encoding: "utf8",
      env: { ...process.env, TF_CPP_MIN_LOG_LEVEL: "3" },
    });
    const grown = Number(child.stdout.trim().split("\n").at(-1));
    const x = { shape, dtype };
    const says = sharedBuffers("tensorflow", kernel, list ? [x] : { [input]: x }, attributes).length > 0;
    const shares = grown < 0.2;
    const agrees = Number.isFinite(grown) && says === shares;
    if (!agrees) wrong++;
    console.log(
      `${agrees ? "ok   " : "WRONG"} ${kernel} [${shape}] ${JSON.stringify(attributes)}: ${shares ? "shares" : "allocates"} (${grown.toFixed(2)} of its bytes)`,
    );
    if (child.status !== 0) console.error(child.stderr);
  }
  console.log(`${cases.length - wrong} of ${cases.length} cases agree with the table`);
  process.exitCode = wrong === 0 ? 0 : 1;
}

if (process.argv[2] === undefined) await main();
else console.log(measure(cases[Number(process.argv[2])]));
