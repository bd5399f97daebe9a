#!/usr/bin/env node
// Searches for failures until the time is over. Prints a line for each campaign, and for each finding a test that
// reproduces it.
// Usage: pnpm fuzz [--minutes N] [--seed S] [--only KIND]… [--backend cpu|native|wasm]… [--count]
// --count adds tries without a finding to the counts in the READMEs. Native needs NATIVE_APP, a folder with tfjs-node
// and its addon; without it, native runs only if requested.
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { loadFuzz } from "./load-fuzz.js";
import { watchCampaign } from "./watch-campaign.js";

const pages = { fuzzer: new URL("README.md", import.meta.url), project: new URL("../../README.md", import.meta.url) };
/** Time limit for kinds without seeds; with a seed, all of its values are tried. */
const confirmingMs = 60_000;

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "4" },
    seed: { type: "string" },
    only: { type: "string", multiple: true },
    backend: { type: "string", multiple: true },
    count: { type: "boolean", default: false },
  },
});
const { fuzz, invoke, close } = await loadFuzz();
const { fuzzerKinds, addTries, runsPerSeed, tellPrograms, triesOf } = fuzz;
const minutes = numberOf("minutes", values.minutes);
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : numberOf("seed", values.seed);
const names = choose("only", values.only, Object.keys(fuzzerKinds));
const backends = choose("backend", values.backend, ["cpu", "native", "wasm"]).map((name) =>
  name === "native" ? "tensorflow" : name,
);
const hasNative = process.env.NATIVE_APP !== undefined;
if (!hasNative && values.backend?.includes("native"))
  throw new Error("--backend native needs NATIVE_APP: `remat setup native` makes such a folder and tells its name.");

const campaigns = names
  .filter((name) => values.only !== undefined || fuzzerKinds[name].share > 0)
  .flatMap((name) =>
    (values.backend === undefined ? fuzzerKinds[name].backends : backends)
      .filter((backend) => backend !== "tensorflow" || hasNative)
      .map((backend) => ({ kind: name, backend, share: Math.max(1, fuzzerKinds[name].share) })),
  );
const shares = campaigns.reduce((sum, { share }) => sum + share, 0);
console.log(`seed ${seed}`);
let failed = 0;
/** @type {import("./src/index.js").Tries[]} */
const tried = [];
for (const { kind, backend, share } of campaigns) {
  const ms = (share / shares) * minutes * 60_000;
  const { tries, findings: found, seconds } = await watchCampaign({ kind, backend, seed, ms }, invoke);
  const where = backend === "tensorflow" ? "native" : backend;
  const findings = [];
  for (const finding of found) {
    // Excludes failures caused by earlier runs in the same process.
    const request = { kind, backend, seed: finding.seed, ms: confirmingMs, leastTries: runsPerSeed };
    const again = await watchCampaign(request, invoke);
    if (again.findings.length > 0) findings.push(finding);
    else
      console.log(
        `        not found again in a new process, from seed ${finding.seed}: ${finding.what.split("\n")[0]}\n${finding.test}`,
      );
  }
  for (const { what, test, seed } of findings) {
    console.log(`not ok  ${kind} on ${where}: ${what.split("\n")[0]}`);
    console.log(`        again: pnpm fuzz --only ${kind} --backend ${where} --seed ${seed}`);
    for (const line of [...what.split("\n").slice(1), ...test.split("\n")]) console.log(`        ${line}`);
  }
  if (findings.length === 0) {
    const { title } = fuzzerKinds[kind];
    console.log(`ok      ${tries} ${title} on ${where} in ${seconds.toFixed(0)} s, from seed ${seed}`);
    tried.push({ title, where, count: tries });
  }
  failed += findings.length;
}
await close();
if (values.count) {
  const counted = addTries(readFileSync(pages.fuzzer, "utf8"), tried);
  writeFileSync(pages.fuzzer, counted);
  writeFileSync(pages.project, tellPrograms(readFileSync(pages.project, "utf8"), triesOf(counted)));
}
if (failed > 0) process.exitCode = 1;

/**
 * @param {string} option
 * @param {string} text
 */
function numberOf(option, text) {
  const number = Number(text);
  if (!(number >= 0 && text.trim() !== "")) throw new Error(`--${option} expects a number, found ${text}.`);
  return number;
}

/**
 * @param {string} option
 * @param {readonly string[] | undefined} wanted
 * @param {readonly string[]} known
 */
function choose(option, wanted, known) {
  for (const name of wanted ?? [])
    if (!known.includes(name)) throw new Error(`--${option} expects one of ${known.join(", ")}, found ${name}.`);
  return wanted ?? known;
}
