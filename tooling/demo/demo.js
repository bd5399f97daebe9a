#!/usr/bin/env node
// Estimates two real models and plans one, as a user would from the shell: ResNet-50 as written by Keras, and the
// transformer of PyTorch's SACEstimator test. Then trains a network under a memory limit that unmodified TensorFlow.js
// exceeds.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const remat = fileURLToPath(new URL("../../apps/cli/dist/main.js", import.meta.url));

const runs = [
  ["estimate", "examples/keras/resnet50.model.json", "--batch", "8"],
  ["estimate", "examples/transformer/model.js", "--depth", "3"],
  ["memory", "examples/transformer/model.js", "--optimizer", "adam", "--depth", "1", "--top", "5", "--units", "GiB"],
  ["plan", "examples/keras/resnet50.model.json", "--batch", "8", "--budget", "20%", "--iterations", "100000"],
];

for (const args of runs) {
  console.log(`$ remat ${args.join(" ")}\n`);
  runNode([remat, ...args]);
}
const example = "examples/memory-limit/run.js";
console.log(`$ node ${example}\n`);
runNode([example]);

function runNode(args) {
  const { status, error } = spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(status ?? 1);
  console.log();
}
