// A sweep of 200 configurations by a fleet: BullMQ on a Redis server started here, with 1, 2 and 4 worker processes of
// one thread, compared with one thread of this machine. Times are of whole processes of `remat fit`, with workers that
// already have the steps. CPU time is that of the workers. Needs `redis-server` (a Debian package).
// Usage: node tooling/bench/fit-fleet.js
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { report } from "./src/report.js";
import { startRedis } from "./src/start-redis.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const remat = join(root, "apps/cli/dist/main.js");
const run = "examples/llama-pytorch/run-512.json.gz";
const devices = ["a100", "a100-40gb", "a100-pcie", "h100", "h100-pcie", "h100-nvl", "h200", "l4", "l40s", "t4"];
const sweep = [
  "--devices",
  devices.join(),
  "--ranks",
  "1,2,4,8,16",
  "--precision",
  "f32,bf16",
  "--ways",
  "stock,recompute",
];
const units = 200;
/** One configuration, to measure the start of the process. */
const single = ["--devices", devices[0], "--ways", "stock"];
/** Clock ticks per second in Linux's CPU times. */
const ticks = 100;

const folder = mkdtempSync(join(tmpdir(), "remat-fleet-"));
const server = await startRedis(folder);
const workers = [];
try {
  const alone = await timed(sweep, "--workers", "1");
  const { rows, notFitting, refused } = JSON.parse(alone.found);
  if (rows.length + notFitting.length + refused.length !== units) throw new Error(`expected ${units} configurations`);
  report({ what: `${units} configurations, a thread of remat fit`, value: alone.ms, unit: "ms" });
  for (const count of [1, 2, 4]) {
    while (workers.length < count) workers.push(startWorker());
    await warmUp();
    server.empty();
    const before = cpuMs();
    const fleet = await timed(sweep, "--engine", server.url);
    if (fleet.found !== alone.found) throw new Error(`${count} workers: another table than that of one machine`);
    const cpu = cpuMs() - before;
    report({
      what: `${units} configurations, ${count} worker processes on ${availableParallelism()} cores`,
      ...{ value: fleet.ms, cpu, unit: "ms", note: `${(alone.ms / fleet.ms).toFixed(2)} × a thread` },
    });
  }
  const again = await timed(sweep, "--engine", server.url);
  report({ what: `${units} configurations that are answered already`, value: again.ms, unit: "ms" });
  const one = await timed(single, "--engine", server.url);
  report({ what: "one configuration, for the start of the process", value: one.ms, unit: "ms" });
  report({ what: "a configuration through the queue", value: (again.ms - one.ms) / units, unit: "ms" });
} finally {
  for (const worker of workers) worker.kill("SIGKILL");
  server.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** Lets each worker answer some units, after which it has the steps. */
async function warmUp() {
  await wait(2000);
  server.empty();
  await timed(sweep, "--engine", server.url, "--max-overhead", "31%");
}

/** Runs `remat fit`. */
function timed(...given) {
  const began = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [remat, "fit", run, ...given.flat(), "--format", "json"], { cwd: root });
    const out = [];
    const errors = [];
    child.stdout.on("data", (chunk) => out.push(chunk));
    child.stderr.on("data", (chunk) => errors.push(chunk));
    child.on("close", (code) =>
      code === 0
        ? resolve({ ms: performance.now() - began, found: Buffer.concat(out).toString() })
        : reject(new Error(`remat fit failed: ${Buffer.concat(errors)}`)),
    );
  });
}

function startWorker() {
  return spawn(process.execPath, [remat, "fit", run, "--serve", server.url, "--workers", "1"], {
    cwd: root,
    stdio: "ignore",
  });
}

/** CPU time of the workers so far. */
function cpuMs() {
  const used = workers.map(({ pid }) => {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
    return Number(fields[11]) + Number(fields[12]);
  });
  return (used.reduce((a, b) => a + b, 0) * 1000) / ticks;
}
