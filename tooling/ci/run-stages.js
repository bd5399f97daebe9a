#!/usr/bin/env node
// Runs every check, one after the other, and prints the sum. Called by .ci/run, which sees to pnpm.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { countLines, countOne, countTasks, countTests } from "./src/count-checks.js";
import { runStage } from "./src/run-stage.js";

const cwd = fileURLToPath(new URL("../../", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "remat-ci-"));
const report = join(folder, "vitest.json");
const okLines = countLines(/^ok\s/, /^not ok\s/);

/** @type {readonly import("./src/run-stage.js").Stage[]} */
const stages = [
  { name: "install", command: ["pnpm", "install", "--frozen-lockfile"], count: countOne },
  { name: "lint", command: ["pnpm", "exec", "oxlint"], count: countOne },
  { name: "format", command: ["pnpm", "exec", "biome", "check"], count: countOne },
  { name: "build", command: ["pnpm", "build", "--continue", "--output-logs=errors-only"], count: countTasks },
  { name: "typecheck", command: ["pnpm", "typecheck", "--continue", "--output-logs=errors-only"], count: countTasks },
  {
    name: "test",
    // The second command of the README, with a report that can be counted.
    command: ["pnpm", "test", "--reporter=default", "--reporter=json", `--outputFile.json=${report}`],
    count: () => countTests(readFileSync(report, "utf8")),
  },
  { name: "goldens", command: ["pnpm", "goldens"], count: countLines(/^agrees\s/, /^DIFFERS\s/) },
  { name: "packages", command: ["pnpm", "packages"], count: okLines },
  { name: "api", command: ["pnpm", "api"], count: okLines },
  { name: "size", command: ["pnpm", "size"], count: okLines },
  { name: "demo", command: ["pnpm", "demo"], count: countOne },
];

const start = performance.now();
let passed = 0;
let failed = 0;
try {
  for (const stage of stages) {
    const count = await runStage(stage, { cwd, timeoutMs: 900_000, print: (line) => console.log(line) });
    passed += count.passed;
    failed += count.failed;
    if (stage.name === "install" && count.failed > 0) break;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`── all: ${((performance.now() - start) / 1000).toFixed(0)} s on Node ${process.version}`);
console.log(`${passed} passed, ${failed} failed`);
if (failed > 0) process.exitCode = 1;
