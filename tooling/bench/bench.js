#!/usr/bin/env node
// Runs the benchmarks of this folder, each in a separate process, and prints all figures in one table, next to
// PyTorch's if the oracle can be run.
// Usage: pnpm bench [--json] [--write] [name …]
// --write puts the table into docs/evidence/speed.md.
// With --against REV, compares the headline figures of this tree with those of another commit, in turn, and fails if one
// is more than 5% worse: pnpm bench --against main~20 [--rounds 7] [part of a headline …]
// With --release VERSION as well, adds a line to history.jsonl: once a release, against the one before.
import { fork } from "node:child_process";
import { appendFileSync, readdirSync } from "node:fs";
import { availableParallelism, cpus, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { allowedSlowdown, compareWith, historyLine } from "./src/against.js";
import { putTable } from "./src/put-table.js";
import { describeRatio, describeRow, isBusy, ratioTable, tableOf, verdict } from "./src/rows.js";
import { howToAskTorch } from "./src/torch.js";

const page = "docs/evidence/speed.md";
const folder = fileURLToPath(new URL(".", import.meta.url));
const suites = readdirSync(folder)
  .filter((file) => file.endsWith(".js") && file !== "bench.js")
  .map((file) => file.slice(0, -".js".length));

const { values: options, positionals: wanted } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    against: { type: "string" },
    rounds: { type: "string", default: "7" },
    release: { type: "string" },
    write: { type: "boolean", default: false },
  },
  allowPositionals: true,
});
if (options.against !== undefined) {
  const report = (ratio) => console.error(`  ${describeRatio(ratio)}`);
  const ratios = await compareWith(options.against, { names: wanted, rounds: Number(options.rounds), report });
  if (options.json) console.log(JSON.stringify(ratios, null, 2));
  else console.log(ratioTable(ratios));
  if (options.write) putTable(page, "bench", ratioTable(ratios, "markdown"), "against");
  if (options.release !== undefined)
    appendFileSync(
      `${folder}history.jsonl`,
      historyLine({ release: options.release, against: options.against }, ratios),
    );
  const worse = ratios.filter(({ isWorse }) => isWorse);
  if (worse.length > 0)
    console.error(
      `bench: more than ${100 * allowedSlowdown}% worse than ${options.against}: ${worse.map(({ name }) => name).join("; ")}.`,
    );
  process.exit(worse.length > 0 ? 1 : 0);
}
const unknown = wanted.find((name) => !suites.includes(name));
if (unknown !== undefined) {
  console.error(`bench: there is no benchmark '${unknown}'. Expected some of ${suites.join(", ")}, or none for all.`);
  process.exit(2);
}

/** Runs one suite. Its own output goes to stderr, so that stdout contains only the table. */
function run(suite) {
  return new Promise((resolve) => {
    const rows = [];
    const child = fork(`${folder}${suite}.js`, { stdio: ["ignore", 2, 2, "ipc"] });
    child.on("message", (row) => {
      rows.push({ suite, ...row });
      console.error(`  ${describeRow(row)}`);
    });
    child.on("close", (code, signal) => {
      if (code !== 0) console.error(`bench: ${suite} failed with ${signal ?? `exit code ${code}`}`);
      resolve({ rows, failed: code !== 0 });
    });
  });
}

const rows = [];
let failed = false;
for (const suite of wanted.length > 0 ? wanted : suites) {
  console.error(suite);
  const done = await run(suite);
  rows.push(...done.rows);
  failed ||= done.failed;
}

const busy = isBusy();
if (options.write) putTable(page, "bench", tableOf(rows, busy, "markdown"), "figures");
const machine = `Node ${process.version}, ${availableParallelism()} × ${cpus()[0]?.model ?? "unknown CPU"}, load ${loadavg()[0].toFixed(1)}`;
if (options.json)
  console.log(
    JSON.stringify(
      { machine, torch: howToAskTorch ?? "asked", rows: rows.map((row) => ({ ...row, met: verdict(row, busy) })) },
      null,
      2,
    ),
  );
else {
  console.log(tableOf(rows, busy));
  console.log(`\n${machine}. Medians of wall time; CPU is that of all threads, JIT and garbage collector included.`);
  if (busy)
    console.log(
      "Other work was waiting for the CPU: 'busy' is what only CPU time would meet. Run it again on a quiet machine.",
    );
  if (howToAskTorch !== undefined) console.log(`${howToAskTorch}.`);
}
process.exitCode = failed ? 1 : 0;
