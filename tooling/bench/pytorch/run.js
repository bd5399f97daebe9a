#!/usr/bin/env node
// Plans of remat for torch.utils.checkpoint beside what people write by hand, on real steps of six models, as a Markdown table; `--programs folder` instead: each
// Python file there that has a build(), as remat.export takes it, recorded, planned for 70 % of what it holds and followed. REMAT_TORCH_PYTHON names a
// Python with torch, transformers and torchvision. Usage: pnpm bench:pytorch [gpt2 …] [--rounds 5] [--programs folder]
import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const pathOf = (relative) => fileURLToPath(new URL(relative, import.meta.url));
const { values: options, positionals: models } = parseArgs({
  options: { programs: { type: "string" }, rounds: { type: "string", default: "5" } },
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
const { status, error } = spawnSync(python, script, {
  stdio: "inherit",
  env: {
    ...process.env,
    PYTHONDONTWRITEBYTECODE: "1",
    REMAT_CLI: `${process.execPath} ${pathOf("../../../apps/cli/dist/main.js")}`,
    REMAT_ROUNDS: options.rounds,
  },
});
if (error !== undefined) throw error;
process.exitCode = status ?? 1;
