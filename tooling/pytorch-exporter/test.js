#!/usr/bin/env node
// Tests the exporter against PyTorch, and the command line on what it records. PyTorch is found by REMAT_TORCH_PYTHON, a Python that has it;
// `--install` makes one in the cache folder first (a download of 200 MB and more, which is why no check does it by itself). `--fixture` writes
// the recorded steps that the tests of @remat/pytorch read. Prints a line for each test: ok or not ok.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const folder = join(here, "test");
const cli = fileURLToPath(new URL("../../apps/cli/dist/main.js", import.meta.url));
const fixtures = fileURLToPath(new URL("../../packages/pytorch/test/fixtures", import.meta.url));
const torchVersion = "2.13.0";

const python = process.argv.includes("--install") ? install() : process.env.REMAT_TORCH_PYTHON;
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
  if (remat === undefined)
    console.error("NOT TESTED: the command line on recorded steps, since it is not built. Run pnpm build first.");
  const { status, stdout, stderr, error } = spawnSync(command, ["-m", "unittest", "discover", "--verbose", folder], {
    encoding: "utf8",
    maxBuffer: 2 ** 28,
    cwd: here,
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: "1", ...(remat !== undefined && { REMAT_CLI: remat }) },
  });
  if (error !== undefined) throw error;
  const outcomes = [
    ...stderr.matchAll(/^(test_\w+) \(.*?\)(?: \.\.\. |\n.*? \.\.\. )(?:# (.*)\n)?(ok|FAIL|ERROR|skipped.*)$/gm),
  ];
  for (const [, name, remark, outcome] of outcomes)
    console.log(
      `${outcome.startsWith("FAIL") || outcome.startsWith("ERROR") ? "not ok" : "ok"} ${name.replaceAll("_", " ")}${remark === undefined ? "" : ` # ${remark}`}`,
    );
  if (status !== 0) {
    if (!outcomes.some(([, , , outcome]) => /FAIL|ERROR/.test(outcome))) console.log("not ok the tests as a whole");
    console.error(stdout + stderr);
    process.exitCode = 1;
  }
}

/** @param {string} command */
function writeFixtures(command) {
  const { status, stderr } = spawnSync(command, [join(folder, "write_fixtures.py"), fixtures], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
}

/** A Python with torch in the cache folder, made if it is not there. */
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
