import { execFile } from "node:child_process";
import {
  type BackendName,
  type BackendPackage,
  backendPlaces,
  checkCached,
  classifyFailure,
  type MissingPart,
} from "@remat/backends/node";

/** What came of trying a package in a process of its own. */
export interface BackendProbe {
  readonly package: BackendPackage;
  readonly backend: BackendName;
  readonly works: boolean;
  /** What is missing; `device` if it works, but on the CPU for want of a CUDA device; undefined if nothing is. */
  readonly missing: MissingPart | "device" | undefined;
  /** What went wrong, on one line. */
  readonly reason: string | undefined;
  readonly version: string | undefined;
  /** The module that was loaded; undefined if none is there. */
  readonly path: string | undefined;
  /** Version of TensorFlow that a native package calls. */
  readonly tensorflow: string | undefined;
  readonly usesGpu: boolean;
  /** Speed of a matrix product, in 10⁹ floating-point operations a second. */
  readonly gflops: number | undefined;
}

interface Answer {
  readonly error?: string;
  readonly version?: string;
  readonly tensorflow?: string | null;
  readonly usesGpu?: boolean;
  readonly gflops?: number;
}

/** Run by `node -e`: what a backend does to a process, a crash included, must not happen to ours. */
const script = `
const { createRequire } = require("node:module");
const util = require("node:util");
util.isNullOrUndefined ??= (value) => value == null;
util.isArray ??= Array.isArray;
const [path, backend] = process.argv.slice(1);
const say = (answer) => process.stdout.write("\\n" + JSON.stringify(answer) + "\\n");
(async () => {
  const load = createRequire(path);
  let version;
  for (let folder = path; version === undefined; folder = require("node:path").dirname(folder))
    try { ({ version } = load(folder + "/package.json")); } catch {}
  const module = load(path);
  const tf = module.tensor2d === undefined ? load("@tensorflow/tfjs-core") : module;
  tf.env().set("PROD", true);
  if (!(await tf.setBackend(backend))) throw new Error("backend '" + backend + "' did not start");
  await tf.ready();
  const size = 512;
  const a = tf.ones([size, size]);
  const once = () => {
    const start = performance.now();
    const product = tf.matMul(a, a);
    const [first] = product.dataSync();
    product.dispose();
    if (first !== size) throw new Error("a product of ones gave " + first + ", expected " + size);
    return performance.now() - start;
  };
  once();
  const times = [];
  // A slow backend is timed once, a fast one until its times settle.
  for (const end = performance.now() + 200; times.length === 0 || (times.length < 20 && performance.now() < end); ) times.push(once());
  const ms = times.sort((x, y) => x - y)[times.length >> 1];
  const { binding, isUsingGpuDevice } = tf.backend();
  say({ version, tensorflow: binding?.TF_Version ?? null, usesGpu: isUsingGpuDevice === true, gflops: (2 * size ** 3) / ms / 1e6 });
  process.exit(0);
})().catch((error) => { say({ error: String(error.message ?? error) }); process.exit(0); });
`;

/** Tries a package's modules in the order of `selectBackend`, each in a fresh process, and has it multiply two matrices. */
export async function probeBackend(name: BackendPackage, backend: BackendName, from: string): Promise<BackendProbe> {
  let failure: BackendProbe | undefined;
  const blank = {
    package: name,
    backend,
    works: false,
    version: undefined,
    tensorflow: undefined,
    usesGpu: false,
    gflops: undefined,
  };
  for (const path of backendPlaces(name, from)) {
    try {
      checkCached(path);
    } catch (error) {
      failure ??= { ...blank, missing: classifyFailure(error), reason: firstLine((error as Error).message), path };
      continue;
    }
    const { error, version, tensorflow, usesGpu = false, gflops } = await ask(path, backend);
    if (error === undefined) {
      const lacksDevice = name === "@tensorflow/tfjs-node-gpu" && !usesGpu;
      const missing = lacksDevice ? "device" : undefined;
      const reason = lacksDevice ? "no CUDA device was found, so it runs on the CPU" : undefined;
      return {
        package: name,
        backend,
        works: true,
        missing,
        reason,
        version,
        path,
        tensorflow: tensorflow ?? undefined,
        usesGpu,
        gflops,
      };
    }
    failure ??= { ...blank, missing: classifyFailure(new Error(error)), reason: firstLine(error), path };
  }
  return failure ?? { ...blank, missing: "module", reason: "not installed", path: undefined };
}

function ask(path: string, backend: BackendName): Promise<Answer> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ["-e", script, path, backend],
      { timeout: 60_000, killSignal: "SIGKILL", env: { ...process.env, TF_CPP_MIN_LOG_LEVEL: "3", NODE_OPTIONS: "" } },
      (error, stdout, stderr) => {
        const line = stdout.split("\n").findLast((text) => text.startsWith("{"));
        if (line !== undefined) resolve(JSON.parse(line) as Answer);
        else resolve({ error: crash(error, stderr) });
      },
    );
  });
}

function crash(error: (Error & { killed?: boolean; signal?: NodeJS.Signals | null }) | null, stderr: string): string {
  const last = stderr.trim().split("\n").at(-1) ?? "";
  if (error?.signal === "SIGILL") return "the process ended by SIGILL: TensorFlow needs a processor with AVX";
  if (error?.killed === true) return "it did not answer within a minute";
  return `the process ended by ${error?.signal ?? "an error"}${last === "" ? "" : `: ${last}`}`;
}

function firstLine(text: string): string {
  const lines = text.split("\n").map((line) => line.trim());
  return (lines.find((line) => line !== "") ?? "").slice(0, 300);
}
