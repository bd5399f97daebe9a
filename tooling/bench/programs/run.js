// Public programs, unmodified, under every strategy:
// `pnpm bench:programs FOLDER [NAME]… [--way WAY]… [--rounds N] [--write]`. See README.md in this folder. `--write`
// puts the table into the README of the repository.
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { formatTable } from "@remat/trace/text";
import { putTable } from "../src/put-table.js";
import { medianRun } from "./src/median-run.js";
import { programsTable } from "./src/programs-table.js";
import { publicPrograms } from "./src/public-programs.js";
import { runPublicProgram, ways } from "./src/run-public-program.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    way: { type: "string", multiple: true },
    rounds: { type: "string", default: "1" },
    write: { type: "boolean" },
  },
});
const [folder, ...names] = positionals;
const nativeApp = process.env.NATIVE_APP;
if (folder === undefined || nativeApp === undefined)
  throw new Error(
    "expected a folder with the programs, as tooling/bench/programs/README.md makes one, and NATIVE_APP, the folder that `remat setup native` makes",
  );

if (values.write && (names.length > 0 || values.way !== undefined))
  throw new Error("--write is of all programs in every way: leave out names and --way");

const mb = (bytes) => (bytes === undefined ? "" : (bytes / 1e6).toFixed(0));
const wantedWays = ["stock", ...(values.way ?? Object.keys(ways)).filter((way) => way !== "stock")];
const rows = [];
/** @type {{ name: string, runs: Record<string, any> }[]} */
const measured = [];
let different = 0;
for (const program of publicPrograms) {
  if (names.length > 0 && !names.some((name) => program.name.includes(name))) continue;
  // Strategies take turns, so that a slow minute of the machine affects all of them equally.
  /** @type {Record<string, any[]>} */
  const rounds = Object.fromEntries(wantedWays.map((way) => [way, []]));
  for (let round = 0; round < Number(values.rounds); round++)
    for (const way of wantedWays)
      rounds[way].push(await runPublicProgram(program, way, { folder: resolve(folder), nativeApp }));
  const runs = Object.fromEntries(wantedWays.map((way) => [way, medianRun(rounds[way])]));
  measured.push({ name: program.name, runs });
  for (const [way, run] of Object.entries(runs)) {
    const isEqual = run.weights !== undefined && run.weights === runs["stock"].weights;
    if (!isEqual) different++;
    const { executed } = run;
    rows.push([
      way === "stock" ? program.name : "",
      way,
      run.weights === undefined ? "died" : isEqual ? "equal" : "different",
      run.stepMs?.toFixed(1) ?? "",
      run.firstStepMs?.toFixed(0) ?? "",
      mb(executed?.peakBytes),
      mb(run.residentBytes),
      run.pauseMs?.toFixed(0) ?? "",
      run.garbageBytes === undefined ? "" : (run.garbageBytes / 1e6).toFixed(1),
      executed === undefined ? "" : String(executed.recomputedOps),
    ]);
    console.error(`${program.name}, ${way}: ${rows.at(-1).slice(2).join(" ")}${run.error ? `\n  ${run.error}` : ""}`);
  }
}
const headers = "Program,Way,Weights,Step ms,First ms,Accounted MB,Resident MB,Pause ms,Garbage MB,Recomputed".split(
  ",",
);
console.log(formatTable(rows, { headers }));
if (values.write) putTable("docs/evidence/benchmarks.md", "bench:programs", programsTable(measured));
if (different > 0) process.exitCode = 1;
