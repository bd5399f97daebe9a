#!/usr/bin/env node
// Runs every check and prints failures again at the end, with the totals. Called by .ci/run, which makes pnpm
// available.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { countGoldens, countLines, countOne, countTasks, countTests } from "./src/count-checks.js";
import { nativeTests, testFiles } from "./src/native-tests.js";
import { neverRun } from "./src/never-run.js";
import { runStage } from "./src/run-stage.js";
import { seedOfSources } from "./src/seed-of-sources.js";
import { testReports } from "./src/test-reports.js";
import { workAtOnce } from "./src/work-at-once.js";

const cwd = fileURLToPath(new URL("../../", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "remat-ci-"));
const nativeFolders = join(folder, "native.json");
/** Limits of a failure's text in the final list. */
const shownLines = 40;
const shownCharacters = 400;
const okLines = countLines(/^ok\s/, /^not ok\s/);

/**
 * Environment of tests on a native backend: its location, and no cache in which another would be found.
 *
 * @param {"tfjs-node" | "tfjs-node-gpu"} name
 * @returns {Record<string, string>}
 */
function nativeApp(name) {
  const { [name]: app } = existsSync(nativeFolders) ? JSON.parse(readFileSync(nativeFolders, "utf8")) : {};
  const env = { REMAT_CACHE_DIR: join(folder, "cache"), TF_CPP_MIN_LOG_LEVEL: "2" };
  return app === undefined ? env : { ...env, NATIVE_APP: app };
}

/**
 * Vitest's reports of all stages, to find tests that none of them has run.
 *
 * @type {string[]}
 */
const reports = [];

/**
 * Adds up reports, and keeps them.
 *
 * @param {readonly string[]} texts vitest's JSON reports
 * @returns {import("./src/count-checks.js").Count}
 */
function takeReports(texts) {
  reports.push(...texts);
  const counts = texts.map(countTests);
  return {
    passed: counts.reduce((sum, { passed }) => sum + passed, 0),
    failures: counts.flatMap(({ failures }) => failures),
  };
}

/**
 * A stage that runs a tier of tests by turbo, with one vitest for each package.
 *
 * @param {string} name
 * @param {readonly string[]} command
 * @param {"test" | "test-e2e"} tier
 * @param {Partial<import("./src/run-stage.js").Stage>} more
 * @returns {import("./src/run-stage.js").Stage}
 */
function tierStage(name, command, tier, more) {
  return { name, command, count: () => takeReports(testReports(cwd, tier)), ...more };
}

/**
 * A stage that runs the tests of these files on a native backend.
 *
 * @param {"tfjs-node" | "tfjs-node-gpu"} backend
 * @param {readonly string[]} files
 * @returns {import("./src/run-stage.js").Stage}
 */
function nativeStage(backend, files) {
  const report = join(folder, `native-${backend}.json`);
  return {
    name: `native tests on ${backend}`,
    command: [
      ...["pnpm", "exec", "vitest", "run", "--testNamePattern=tensorflow"],
      ...["--reporter=default", "--reporter=json", `--outputFile.json=${report}`, ...files],
    ],
    env: () => nativeApp(backend),
    count: () => takeReports([readFileSync(report, "utf8")]),
  };
}

/**
 * A stage that runs tfjs-core's specs on a backend, unmodified and in each of these modes.
 *
 * @param {"cpu" | "native"} backend
 * @param {readonly string[]} modes
 * @returns {import("./src/run-stage.js").Stage}
 */
function specsStage(backend, modes) {
  return {
    name: `specs on ${backend}`,
    command: ["pnpm", "specs", "--backend", backend, ...modes.flatMap((mode) => ["--mode", mode])],
    env: () => nativeApp("tfjs-node-gpu"),
    count: okLines,
  };
}

/**
 * Test files of the PyTorch exporter that every change runs, about a minute: those that find a training step or a plan
 * that is silently wrong. `.ci/nightly` runs the others, and all tests of these.
 */
const pytorchTests = [
  ...["test_state", "test_hidden_state", "test_steps", "test_late_writes", "test_early_stop", "test_modules"],
  ...["test_rules", "test_sharded", "test_fit"],
];

/**
 * The end-to-end tests run on the native backend in a stage of their own.
 *
 * @type {(files: readonly string[]) => readonly string[]}
 */
const firstTier = (files) => files.filter((file) => !file.endsWith(".e2e.test.ts"));

/** A machine that never had this project: an empty home, which contains all caches, and no other variable but PATH. */
const freshMachine = () => ({ HOME: mkdtempSync(join(folder, "home-")), CI: "true", NO_COLOR: "1" });

/**
 * Number of stages of a part that run at once. Tests use all cores by themselves. Most others use one, almost always.
 */
const atOnce = 2;

/**
 * Parts run one after the other, in order of their dependencies. Stages of a part are independent, the longest first.
 *
 * @type {readonly (readonly import("./src/run-stage.js").Stage[])[]}
 */
const parts = [
  [{ name: "install", command: ["pnpm", "install", "--frozen-lockfile"], count: countOne }],
  [
    { name: "build", command: ["pnpm", "build", "--continue", "--output-logs=errors-only"], count: countTasks },
    { name: "lint", command: ["pnpm", "exec", "oxlint"], count: countOne },
    { name: "format", command: ["pnpm", "exec", "biome", "check"], count: countOne },
  ],
  [
    // Includes the types of built files.
    { name: "typecheck", command: ["pnpm", "typecheck", "--continue", "--output-logs=errors-only"], count: countTasks },
    { name: "native", command: ["node", "tooling/ci/build-native.js", nativeFolders], count: okLines },
  ],
  [
    // The second command of the README, on a machine without a native backend.
    tierStage("test", ["npx", "-y", "pnpm@12.21.0", "test"], "test", {
      isAlone: true,
      env: freshMachine,
      timeoutMs: 3_000_000,
    }),
  ],
  [
    tierStage(
      "end-to-end tests",
      ["pnpm", "exec", "turbo", "run", "test:e2e", "--continue", "--concurrency=100%"],
      "test-e2e",
      {
        env: () => nativeApp("tfjs-node-gpu"),
        timeoutMs: 3_000_000,
      },
    ),
  ],
  [nativeStage("tfjs-node-gpu", firstTier(nativeTests(cwd)))],
  // Without a GPU, both packages compute the same. The tests of the hook, which call single kernels, are enough.
  [nativeStage("tfjs-node", firstTier(nativeTests(cwd, ["packages/dispatch-hook/test"])))],
  [
    { name: "packages", command: ["pnpm", "packages"], count: okLines },
    {
      // A PyTorch that is missing and cannot be installed is a failure.
      name: "pytorch",
      command: ["node", "tooling/pytorch-exporter/test.js", "--required", "--install", ...pytorchTests],
      count: okLines,
    },
    {
      name: "fuzz",
      command: ["pnpm", "fuzz", "--minutes", "0.5", "--seed", String(seedOfSources(cwd))],
      env: () => nativeApp("tfjs-node-gpu"),
      timeoutMs: 1_500_000,
      count: okLines,
    },
    // A sample of the modes. `.ci/nightly` runs all of them.
    specsStage("cpu", ["record", "release-early", "tight-budget", "other-plan"]),
    // Policy decisions are tested on cpu. This tests native's kernels and buffers.
    specsStage("native", ["evict-everything", "own-plan"]),
    { name: "goldens", command: ["pnpm", "goldens"], count: countGoldens },
    { name: "truth", command: ["pnpm", "check:truth"], count: okLines },
    {
      name: "demo where nothing is cached",
      // The first command of the README.
      command: ["npx", "-y", "pnpm@12.21.0", "demo"],
      isAlone: true,
      env: freshMachine,
      count: countOne,
    },
    { name: "demo on the native backend", command: ["pnpm", "demo"], count: countOne },
    // Needs the Chromium and the tmux that the end-to-end tests have found or installed.
    { name: "pictures", command: ["pnpm", "pictures"], count: okLines },
    { name: "api", command: ["pnpm", "api"], count: okLines },
    { name: "size", command: ["pnpm", "size"], count: okLines },
  ],
];

const start = performance.now();
let passed = 0;
/** @type {string[]} */
const failures = [];
/** @type {string[]} */
const times = [];
try {
  for (const stages of parts) {
    const counts = await workAtOnce(stages, atOnce, async (stage) => {
      const begin = performance.now();
      const count = await runStage(stage, { cwd, timeoutMs: 900_000, print: (line) => console.log(line) });
      times.push(`${stage.name} ${secondsSince(begin)}`);
      return count;
    });
    for (const [i, count] of counts.entries()) {
      passed += count.passed;
      failures.push(...count.failures.map((failure) => `${stages[i].name}: ${failure}`));
    }
    if (stages[0].name === "install" && failures.length > 0) break;
  }
  failures.push(...neverRun(cwd, testFiles(cwd), reports).map((test) => `no stage ran ${test}`));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`── all: ${secondsSince(start)} s on Node ${process.version} (${times.join(", ")})`);
for (const failure of failures) {
  const lines = failure.split("\n").slice(0, shownLines);
  console.log(`── failed in ${lines.map((line) => line.slice(0, shownCharacters)).join("\n   │ ")}`);
}
console.log(`${passed} passed, ${failures.length} failed`);
if (failures.length > 0) process.exitCode = 1;

/** @type {(begin: number) => string} */
function secondsSince(begin) {
  return ((performance.now() - begin) / 1000).toFixed(0);
}
