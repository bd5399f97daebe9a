import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { allocatorEnvironment } from "@remat/cli/native";
import { runProgram } from "@remat/program";
import { build } from "esbuild";

const here = (/** @type {string} */ path) => fileURLToPath(new URL(path, import.meta.url));

/** Strategies, by the name of a column. */
export const ways = /** @type {const} */ ({
  stock: undefined,
  "early release": { kind: "exec" },
  "100%": { kind: "exec", budget: "100%" },
  "70%": { kind: "exec", budget: "70%" },
  "50%": { kind: "exec", budget: "50%" },
});

/** Longer than the slowest takes. */
const limitMs = 420_000;

/**
 * Runs a program under one strategy, in a separate process and an empty folder. Returns the measurements and remat's
 * report, or `error` with the last message.
 *
 * @param {import("./public-programs.js").PublicProgram} program
 * @param {keyof typeof ways} way
 * @param {{ folder: string, nativeApp: string }} where
 */
export async function runPublicProgram(program, way, { folder, nativeApp }) {
  const cwd = mkdtempSync(join(tmpdir(), "remat-program-"));
  try {
    program.writeData?.(cwd);
    const bundle = await bundleProgram(program, folder, cwd);
    const file = join(cwd, "measured.json");
    const env = {
      NODE_PATH: [nativeApp, folder].map((root) => join(root, "node_modules")).join(delimiter),
      REMAT_PROGRAMS: folder,
      REMAT_BENCH_PROGRAM: JSON.stringify({ passes: program.passes, file, fields: program.fields }),
      // Some programs look here for earlier downloads.
      TMPDIR: cwd,
      TF_CPP_MIN_LOG_LEVEL: "2",
      ...allocatorEnvironment(),
    };
    const loaded = ["offline.cjs", "measure.cjs"].flatMap((file) => ["--require", here(file)]);
    const command = [process.execPath, ...loaded, bundle, ...(program.args ?? [])];
    const order = ways[way];
    const ran =
      order === undefined ? await runStock(command, { cwd, env }) : await runExec(command, order, { cwd, env });
    return { ...ran, ...readMeasured(file) };
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}

function readMeasured(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}

async function bundleProgram({ file, isEntry, modules = {} }, folder, cwd) {
  const entry = isEntry === true ? here(`../entries/${file}`) : join(folder, file);
  // A CommonJS entry imports only installed modules.
  if (isEntry === true && file.endsWith(".cjs")) return entry;
  const alias = Object.fromEntries(
    Object.entries(modules).map(([name, module]) => [name, module.startsWith("./") ? join(folder, module) : module]),
  );
  const outfile = join(cwd, "bundled/program.cjs");
  mkdirSync(dirname(outfile));
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: "node",
    format: "cjs",
    packages: "external",
    alias,
    logLevel: "error",
  });
  return outfile;
}

async function runExec(command, order, { cwd, env }) {
  let said = "";
  return runProgram(
    {
      command,
      order,
      cwd,
      env,
      stdio: ["ignore", "pipe", "pipe"],
      onOutput: (text) => (said = (said + text).slice(-2000)),
    },
    ({ exitCode, reports }) => ({
      error: exitCode === 0 ? undefined : (reports.find(({ problem }) => problem)?.problem ?? said),
      executed: reports.find(({ executed }) => executed)?.executed,
    }),
  );
}

async function runStock([file, ...args], { cwd, env }) {
  const child = spawn(file, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: limitMs,
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text) => (said = (said + text).slice(-2000)));
  const code = await new Promise((resolve) => child.on("close", resolve));
  return { error: code === 0 ? undefined : said, executed: undefined };
}
