#!/usr/bin/env node
// Tests the exporter against PyTorch, and the command line on recorded steps: `node test.js [test_fit …]`, by default
// all test files. REMAT_TORCH_PYTHON names a Python that has PyTorch. Without it, `--install` creates one in the cache
// folder (a download of 200 MB or more). `--required` fails if there is no PyTorch. `--fixture` writes the recorded
// steps that the tests of @remat/pytorch, @remat/sharding and @remat/runtime-estimator read. Prints a line for each test: ok or not ok.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const folder = join(here, "test");
const cli = fileURLToPath(new URL("../../apps/cli/dist/main.js", import.meta.url));
const fixtures = ["pytorch", "sharding", "runtime-estimator"].map((name) =>
  fileURLToPath(new URL(`../../packages/${name}/test/fixtures`, import.meta.url)),
);
const torchVersion = "2.13.0";

const named = process.env.REMAT_TORCH_PYTHON;
const python = named === undefined && process.argv.includes("--install") ? install() : named;
const files = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const known = readdirSync(folder).flatMap((file) => /^(test_\w+)\.py$/.exec(file)?.[1] ?? []);
const unknown = files.find((file) => !known.includes(file));
if (unknown !== undefined) throw new Error(`no test file is called ${unknown}. Name any of ${known.join(", ")}.`);
if (python === undefined) {
  console.error(
    "NOT TESTED: the PyTorch exporter, since no PyTorch was named. Set REMAT_TORCH_PYTHON to a Python that has torch, or give --install to fetch one.",
  );
  process.exitCode = process.argv.includes("--required") ? 1 : 0;
} else if (process.argv.includes("--fixture")) writeFixtures(python);
else runTests(python);

/** @param {string} command */
function runTests(command) {
  const remat = process.env.REMAT_CLI ?? (existsSync(cli) ? `${process.execPath} ${cli}` : undefined);
  if (remat === undefined) {
    console.error("NOT TESTED: the command line on recorded steps, since it is not built. Run pnpm build first.");
    if (process.argv.includes("--required")) process.exitCode = 1;
  }
  const { status, error } = spawnSync(
    command,
    [join(folder, "run_tests.py"), ...(files.length === 0 ? known : files)],
    {
      stdio: ["ignore", "inherit", "inherit"],
      cwd: folder,
      env: {
        ...process.env,
        PYTHONDONTWRITEBYTECODE: "1",
        PYTHONWARNINGS: "ignore",
        PYTHONPATH: here,
        ...(remat !== undefined && { REMAT_CLI: remat }),
      },
    },
  );
  if (error !== undefined) throw error;
  if (status !== 0) process.exitCode = 1;
}

/** @param {string} command */
function writeFixtures(command) {
  const { status, stderr } = spawnSync(command, [join(folder, "write_fixtures.py"), ...fixtures], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
}

/** Returns a Python with torch in the cache folder, creating it if it does not exist. */
function install() {
  const folder = join(process.env.REMAT_CACHE_DIR ?? join(homedir(), ".cache/remat"), `torch-${torchVersion}`);
  const command = join(folder, "bin/python");
  /** @param {string} program @param {string[]} args */
  const run = (program, args) => {
    const { status, error } = spawnSync(program, args, { stdio: ["ignore", "ignore", "inherit"] });
    if (status !== 0)
      throw new Error(`${program} ${args.join(" ")} failed${error === undefined ? "" : `: ${error.message}`}`);
  };
  if (spawnSync(command, ["-c", "import torch"]).status !== 0) {
    run("python3", ["-m", "venv", "--clear", folder]);
    run(command, ["-m", "pip", "install", "--quiet", `torch==${torchVersion}`, "numpy"]);
  }
  return command;
}
