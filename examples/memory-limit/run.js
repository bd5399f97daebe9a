// Trains the same network three times: unmodified without a limit, unmodified within a limit, and within the limit on a
// memory budget. The limit applies to the process: its resident memory is checked every 10 ms, and a process above it
// is killed.
// Usage: node run.js [--limit 1200MB] [--budget 150MB] [--backend cpu]
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const { values: options } = parseArgs({
  options: {
    limit: { type: "string", default: "1200MB" },
    budget: { type: "string", default: "150MB" },
    backend: { type: "string" },
  },
});
const limitMb = Number(options.limit.replace(/MB$/, ""));
const pageBytes = 4096;

function residentBytes(pid) {
  try {
    return pageBytes * Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]);
  } catch {
    return 0; // It has ended.
  }
}

function train(args, limitBytes = Number.POSITIVE_INFINITY) {
  const script = fileURLToPath(new URL("train.js", import.meta.url));
  const backend = options.backend === undefined ? [] : ["--backend", options.backend];
  const child = spawn(process.execPath, [script, ...backend, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  let errors = "";
  child.stdout.on("data", (text) => (output += text));
  child.stderr.on("data", (text) => (errors += text));
  let peakBytes = 0;
  const watch = setInterval(() => {
    const bytes = residentBytes(child.pid);
    peakBytes = Math.max(peakBytes, bytes);
    if (bytes > limitBytes) child.kill("SIGKILL");
  }, 10);
  return new Promise((resolve) => {
    child.on("close", (code, signal) => {
      clearInterval(watch);
      const losses = output.split("\n").filter((line) => /^-?\d/.test(line));
      resolve({ losses, peakBytes, wasKilled: signal === "SIGKILL", failed: code !== 0, errors });
    });
  });
}

const mb = (bytes) => `${(bytes / 1e6).toFixed(0)} MB`;
const tell = (what, { losses, peakBytes, wasKilled, failed }) =>
  console.log(
    `${what.padEnd(42)} ${wasKilled ? "killed" : failed ? "failed" : "finished"} at ${mb(peakBytes)} resident, losses ${losses.join(", ") || "none"}`,
  );

if (process.platform === "linux") await compare();
else console.log("memory-limit: resident memory is read from /proc, which only Linux has.");

async function compare() {
  const free = await train([]);
  tell("stock, without a limit:", free);
  const stock = await train([], limitMb * 1e6);
  tell(`stock, at most ${limitMb} MB:`, stock);
  const ours = await train(["--budget", options.budget], limitMb * 1e6);
  tell(`a budget of ${options.budget}, at most ${limitMb} MB:`, ours);

  const expected = free.losses.join();
  if (free.failed || !stock.wasKilled || ours.failed || ours.losses.join() !== expected || ours.losses.length === 0) {
    console.error(`expected stock to be killed, and the budget to finish with the losses ${expected}\n${ours.errors}`);
    process.exitCode = 1;
  } else console.log("The same losses, to the last bit.");
}
