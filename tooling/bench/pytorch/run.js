#!/usr/bin/env node
// Compares remat's plans for torch.utils.checkpoint with manual checkpointing and PyTorch's own tools, on real steps of
// six models, as a Markdown table. With `--programs folder`: records each Python file there that has a build(), as for
// remat.export, plans for 70% of its peak, and applies the plan. REMAT_TORCH_PYTHON names a Python with torch,
// transformers and torchvision, and with pulp and pwlf for `sac_milp`. `--rounds 0` measures memory only. `--write`
// puts the measured rows into the README of the PyTorch package, and some into docs/evidence/benchmarks.md.
// Usage: pnpm bench:pytorch [gpt2 …] [--rounds 5] [--write] [--programs folder]
import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { writeTables } from "./write-tables.js";

const pathOf = (relative) => fileURLToPath(new URL(relative, import.meta.url));
const { values: options, positionals: models } = parseArgs({
  options: {
    programs: { type: "string" },
    rounds: { type: "string", default: "5" },
    write: { type: "boolean", default: false },
  },
  allowPositionals: true,
});
const python = process.env.REMAT_TORCH_PYTHON;
if (python === undefined) {
  console.error(
    "bench:pytorch: no PyTorch was named. Set REMAT_TORCH_PYTHON to a Python that has torch, transformers and torchvision.",
  );
  process.exit(2);
}
const script =
  options.programs === undefined ? [pathOf("bench.py"), ...models] : [pathOf("programs.py"), resolve(options.programs)];
const bench = spawn(python, script, {
  stdio: ["ignore", "pipe", "inherit"],
  env: {
    ...process.env,
    PYTHONDONTWRITEBYTECODE: "1",
    REMAT_CLI: `${process.execPath} ${pathOf("../../../apps/cli/dist/main.js")}`,
    REMAT_ROUNDS: options.rounds,
  },
});
let table = "";
bench.stdout.setEncoding("utf8").on("data", (text) => {
  process.stdout.write(text);
  table += text;
});
const [status] = await once(bench, "close");
process.exitCode = status ?? 1;
if (options.write && options.programs === undefined && table.includes("\n|")) writeTables(table);
