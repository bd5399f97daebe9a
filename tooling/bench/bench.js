#!/usr/bin/env node
// Runs every benchmark of this folder, one after the other and each in a process of its own, or those named: `pnpm bench [NAME…]`. A benchmark
// prints what it measures, beside PyTorch's figure where REMAT_TORCH_PYTHON names a Python that has torch.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const self = "bench.js";
const all = readdirSync(new URL(".", import.meta.url)).filter((file) => file.endsWith(".js") && file !== self);
const words = process.argv.slice(2).map((word) => `${word.replace(/\.js$/, "")}.js`);
const unknown = words.find((word) => !all.includes(word));
if (unknown !== undefined) throw new Error(`there is no benchmark ${unknown}: there are ${all.join(", ")}`);

for (const file of words.length === 0 ? all.sort() : words) {
  console.log(`── ${file}`);
  const { status, signal } = spawnSync(process.execPath, [fileURLToPath(new URL(file, import.meta.url))], {
    stdio: "inherit",
  });
  if (status !== 0) {
    console.log(`${file} ended with ${signal ?? status}`);
    process.exitCode = 1;
  }
}
