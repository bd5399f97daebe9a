#!/usr/bin/env node
// Changes sources in small ways, one at a time, and shows the changes that no unit test notices.
// Usage: pnpm mutate [PACKAGE]… [--sample N] [--seed S] [--file PART]… [--tests N] [--seconds N] [--at-least SHARE]
// [--list]
// Files are not modified: vitest gets the changed source from a plugin (vitest/mutant.ts).
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { workspaceFolders } from "../workspace-folders.js";
import { drawFrom, mutantsOf } from "./mutants.js";
import { testsByDistance } from "./reaching-tests.js";

const root = fileURLToPath(new URL("../../..", import.meta.url)).replace(/\/$/, "");
const runner = fileURLToPath(new URL("run-tests.js", import.meta.url));
/** A run that takes this many times as long as without a change counts as an endless loop. */
const slownessOfLoop = 3;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: "string", default: "10" },
    seed: { type: "string", default: "1" },
    file: { type: "string", multiple: true, default: [] },
    tests: { type: "string", default: "1000" },
    seconds: { type: "string", default: "300" },
    "at-least": { type: "string", default: "0.7" },
    list: { type: "boolean", default: false },
  },
});
const numberOf = (name) => {
  const number = Number(values[name]);
  if (!(number >= 0)) throw new Error(`--${name} is ${JSON.stringify(values[name])}. Give a number from 0 up.`);
  return number;
};
const [sample, seed, mostTests, seconds, atLeast] = ["sample", "seed", "tests", "seconds", "at-least"].map(numberOf);

const folders = new Map(
  workspaceFolders(root, ["packages", "apps"]).map((folder) => [basename(folder), join(root, folder)]),
);
const names =
  positionals.length > 0
    ? positionals
    : [...folders.keys()].filter((name) => existsSync(join(folders.get(name), "test")));
for (const name of names)
  if (!folders.has(name))
    throw new Error(`There is no package ${name}. Name one of ${[...folders.keys()].sort().join(", ")}.`);

let running;
for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
])
  process.on(signal, () => {
    stop(running);
    process.exit(code);
  });

let isEnough = true;
for (const name of names) isEnough = (await mutatePackage(name)) && isEnough;
process.exitCode = isEnough ? 0 : 1;

/** Draws changes of a package, tries them, and returns whether enough of them were noticed. */
async function mutatePackage(name) {
  const folder = folders.get(name);
  const all = sourcesOf(folder).flatMap((file) =>
    mutantsOf(readFileSync(file, "utf8"), file).map((mutant) => ({ file, ...mutant })),
  );
  const drawn = drawFrom(all, sample, seed);
  console.log(`${name}: ${drawn.length} of ${all.length} changes, seed ${seed}`);
  if (values.list) {
    for (const mutant of drawn) console.log(`  ${describe(mutant)}`);
    return true;
  }
  const reaching = testsByDistance(folder);
  const testsOf = (mutant) => reaching(mutant.file).slice(0, mostTests);
  const { run, end } = startRunner(name);
  const began = performance.now();
  const every = [...new Set(drawn.flatMap(testsOf))];
  if (every.length > 0) {
    const plain = await run(every, undefined, 3600);
    if (!plain?.isPassed)
      throw new Error(`Without a change, ${plain?.failed ?? name} fails: ${plain?.test}. Make the tests pass first.`);
  }
  const limit = Math.min(seconds, 30 + (slownessOfLoop * (performance.now() - began)) / 1000);
  const counts = { killed: 0, "timed out": 0, survived: 0 };
  for (const mutant of drawn) {
    const tests = testsOf(mutant);
    const found = tests.length === 0 ? { isPassed: true, ran: 0 } : await run(tests, mutant, limit);
    const outcome = found === undefined ? "timed out" : found.isPassed ? "survived" : "killed";
    counts[outcome]++;
    const by =
      outcome === "survived"
        ? `${found.ran} test files ran`
        : outcome === "killed"
          ? `by ${relative(root, found.failed ?? "")}: ${found.test}`
          : `after ${Math.round(limit)} s`;
    console.log(`  ${outcome.padEnd(9)} ${describe(mutant)}   (${by.split("\n")[0].slice(0, 160)})`);
  }
  end();
  const noticed = counts.killed + counts["timed out"];
  const score = drawn.length === 0 ? 1 : noticed / drawn.length;
  console.log(
    `${name}: ${Math.round(100 * score)}% noticed: ${counts.killed} killed, ${counts["timed out"]} timed out, ${counts.survived} survived${score < atLeast ? `; at least ${Math.round(100 * atLeast)}% must be` : ""}`,
  );
  return score >= atLeast;
}

function sourcesOf(folder) {
  return readdirSync(join(folder, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => /\.tsx?$/.test(file) && !file.endsWith(".d.ts"))
    .filter((file) => values.file.length === 0 || values.file.some((part) => file.includes(part)))
    .sort()
    .map((file) => join(folder, "src", file));
}

function describe({ file, line, kind, before, text }) {
  const short = (code) => code.replace(/\s+/g, " ").slice(0, 90);
  return `${relative(root, file)}:${line}  ${kind}: ${short(before)} → ${short(text)}`;
}

/**
 * Starts a process that runs tests of a package. `run` runs test files, with a change if there is one, and returns
 * undefined if they took too long. A new process replaces one that was stopped or that a change has ended. `end` ends it.
 */
function startRunner(name) {
  const start = () => {
    const child = spawn(process.execPath, [runner, JSON.stringify({ root, projects: [name, `${name}:alone`] })], {
      cwd: root,
      detached: true,
      stdio: ["pipe", "ignore", "pipe", "pipe"],
      env: { ...process.env, REMAT_MUTANT: "" },
    });
    running = child;
    const errors = [];
    child.stderr.setEncoding("utf8").on("data", (text) => errors.push(text));
    // Writing to a process that has ended fails. `close` reports its end.
    child.stdin.on("error", () => {});
    return { child, errors, results: createInterface({ input: child.stdio[3] }) };
  };
  let current;
  const run = (files, mutant, limitSeconds) => {
    current ??= start();
    const { child, errors, results } = current;
    return new Promise((done, fail) => {
      let isOver = false;
      const end = () => {
        clearTimeout(timer);
        results.off("line", onResult);
        child.off("close", onClose);
      };
      const onResult = (line) => {
        end();
        done(JSON.parse(line));
      };
      const onClose = (code) => {
        end();
        current = undefined;
        if (isOver) done(undefined);
        // A change that ends the process also counts as noticed.
        else if (mutant)
          done({ isPassed: false, ran: 0, failed: join(root, basename(runner)), test: `vitest ended with ${code}` });
        else fail(new Error(`vitest ended with ${code}: ${errors.join("").slice(-2000)}`));
      };
      const timer = setTimeout(() => {
        isOver = true;
        stop(child);
      }, 1000 * limitSeconds);
      results.on("line", onResult);
      child.on("close", onClose);
      child.stdin.write(`${JSON.stringify({ files, mutant })}\n`);
    });
  };
  return { run, end: () => stop(current?.child) };
}

/** Ends a process and everything that it has started. */
function stop(child) {
  if (child?.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}
