import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { median } from "./measure.js";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const remat = fileURLToPath(new URL("../../../apps/cli/dist/main.js", import.meta.url));
const usage = fileURLToPath(new URL("tell-usage.cjs", import.meta.url));

/** Runs `remat` in a process of its own, `runs` times: medians of wall and CPU milliseconds from spawn to exit, and the most memory resident. */
export function timeRemat(args, runs) {
  const times = Array.from({ length: runs }, () => {
    const start = performance.now();
    const { status, stderr, output } = spawnSync(process.execPath, ["--require", usage, remat, ...args], {
      cwd: root,
      encoding: "utf8",
      maxBuffer: 1e9,
      stdio: ["ignore", "pipe", "pipe", "pipe"],
    });
    const wallMs = performance.now() - start;
    if (status !== 0) throw new Error(`remat ${args.join(" ")} failed: ${stderr}`);
    return { wallMs, ...JSON.parse(output[3]) };
  });
  const medianOf = (name) => median(times.map((time) => time[name]));
  return {
    runs,
    wallMs: medianOf("wallMs"),
    cpuMs: medianOf("cpuMs"),
    residentMiB: Math.max(...times.map((time) => time.residentMiB)),
  };
}
