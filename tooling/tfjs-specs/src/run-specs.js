import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Result of one run of all specs.
 *
 * @typedef {object} SpecRun
 * @property {readonly { name: string, status: string, messages: readonly string[] }[]} specs in the order in which they
 * ran
 * @property {number} work amount of work of the mode: 0 proves nothing
 * @property {readonly { name: string, message: string }[]} errors outside of specs, by suite
 */

/**
 * Runs a bundle in a separate process.
 *
 * @param {{ bundle: string, mode: string, folder: string, native: { name: string, folder: string } | undefined, limitMs: number }} options
 * @returns {Promise<SpecRun>}
 */
export async function runSpecs({ bundle, mode, folder, native, limitMs }) {
  const outFile = join(folder, `${mode}.json`);
  const child = spawn(process.execPath, ["--expose-gc", bundle, mode, outFile], {
    // Specs print a lot, none of it useful.
    stdio: ["ignore", "ignore", "pipe"],
    env: {
      ...process.env,
      TF_CPP_MIN_LOG_LEVEL: "2",
      REMAT_SPECS_NATIVE: native?.folder,
      REMAT_SPECS_PACKAGE: native?.name,
    },
    timeout: limitMs,
    killSignal: "SIGKILL",
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    stderr = (stderr + text).slice(-4000);
  });
  const end = await new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => resolve(signal ?? code));
  });
  if (end !== 0) throw new Error(`the specs with mode ${mode} ended with ${end}:\n${stderr}`);
  return JSON.parse(readFileSync(outFile, "utf8"));
}
