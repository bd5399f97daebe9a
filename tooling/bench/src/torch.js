import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { median } from "./measure.js";

const { REMAT_ORACLE: oracle, REMAT_TORCH_PYTHON: python } = process.env;
const memTracker = fileURLToPath(new URL("../torch_mem_tracker.py", import.meta.url));

/** How to enable PyTorch's figures, or undefined if they are enabled. */
export const howToAskTorch =
  oracle !== undefined && python !== undefined
    ? undefined
    : "PyTorch was not asked: set REMAT_ORACLE to the folder of the oracle's bench_one.py, " +
      "with its compiled guard library, and REMAT_TORCH_PYTHON to a Python that has torch";

/**
 * PyTorch's SACEstimator on one of the oracle's models, in milliseconds: a whole cold process, and the median of its
 * warm runs.
 */
export function timeTorch(model) {
  if (howToAskTorch !== undefined) return undefined;
  const { warm, total_process_cold_s, peak_rss_mb } = runPython(join(oracle, "bench_one.py"), model);
  return {
    warmMs: median(warm.map((times) => times.end_to_end_excl_import_s)) * 1000,
    coldMs: total_process_cold_s * 1000,
    residentMiB: peak_rss_mb,
  };
}

/**
 * PyTorch's MemTracker over two steps with Adam, in milliseconds: a whole cold process, and the part after the imports.
 */
export function timeTorchMemTracker(model) {
  if (howToAskTorch !== undefined) return undefined;
  return runPython(memTracker, oracle, model);
}

/** Parses the last line that a script prints, as JSON. */
function runPython(...args) {
  const { status, stdout, stderr, error } = spawnSync(python, args, {
    encoding: "utf8",
    env: { ...process.env, PYTHONHASHSEED: "0" },
  });
  if (status !== 0) throw new Error(`${args.join(" ")} failed: ${stderr || error}`);
  return JSON.parse(stdout.trim().split("\n").at(-1));
}
