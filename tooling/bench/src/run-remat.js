import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { median } from "./measure.js";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const remat = fileURLToPath(new URL("../../../apps/cli/dist/main.js", import.meta.url));
const tellUsage = fileURLToPath(new URL("tell-usage.cjs", import.meta.url));
const afterStart = fileURLToPath(new URL("remat-after-start.js", import.meta.url));

/**
 * Runs `remat` in a new process, `runs` times. Returns medians of wall and CPU milliseconds from spawn to exit, and the
 * highest resident memory.
 */
export function timeRemat(args, runs) {
  const times = Array.from({ length: runs }, () => {
    const start = performance.now();
    const usage = runNode(["--require", tellUsage, remat, ...args]);
    return { ...usage, wallMs: performance.now() - start };
  });
  return summary(times);
}

/** The same from the moment when all modules are imported. */
export function timeRematAfterStart(args, runs) {
  return summary(Array.from({ length: runs }, () => runNode([afterStart, ...args])));
}

/** Output of the process on file descriptor 3. */
function runNode(args) {
  const { status, stderr, output } = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 1e9,
    stdio: ["ignore", "pipe", "pipe", "pipe"],
  });
  if (status !== 0) throw new Error(`node ${args.join(" ")} failed: ${stderr}`);
  return JSON.parse(output[3]);
}

function summary(times) {
  const medianOf = (name) => median(times.map((time) => time[name]));
  return {
    runs: times.length,
    wallMs: medianOf("wallMs"),
    cpuMs: medianOf("cpuMs"),
    residentMiB: Math.max(...times.map((time) => time.residentMiB)),
  };
}
