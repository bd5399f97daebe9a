import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import util from "node:util";
import { RematError } from "@remat/trace";
import * as tf from "@tensorflow/tfjs-core";
import type { BackendName } from "../find-backend.js";
import { provideGradientKernels } from "../wasm/gradients/provide-gradient-kernels.js";
import { classifyFailure, type MissingPart, oneLine } from "./backend-failure.js";
import { checkCached } from "./check-cached.js";
import { missingGradientKernels } from "./gradient-kernels.js";
import { type NativePackage, nativeAppFolder } from "./native-cache.js";

/** The packages that bring them, best first. */
export type BackendPackage =
  | "@tensorflow/tfjs-node-gpu"
  | "@tensorflow/tfjs-node"
  | "@tensorflow/tfjs-backend-wasm"
  | "@tensorflow/tfjs-backend-cpu";

/** A package that brings a backend, and what came of trying it. */
export interface BackendAttempt {
  readonly package: BackendPackage;
  readonly backend: BackendName;
  readonly selected: boolean;
  /**
   * Why not: `module` not installed, native `addon` not built, shared `library` missing, no `trust` in who can have changed it, `start` failed, `kernels`
   * missing that it is wanted for.
   * Undefined if nothing is; `device` if the package was selected although it found no CUDA device, and runs on the CPU.
   */
  readonly missing: MissingPart | "device" | undefined;
  /** What went wrong, on one line; empty if nothing did. */
  readonly reason: string;
}

export interface BackendSelection {
  readonly backend: BackendName;
  readonly package: BackendPackage;
  /** The module that was loaded: the user's, or the one in the cache that `remat setup native` fills. */
  readonly path: string;
  /** tfjs-node-gpu only: whether a CUDA device is used; it falls back to the CPU without one. */
  readonly usesGpu: boolean;
  /** Everything that was tried, in order; the last one was selected. */
  readonly attempts: readonly BackendAttempt[];
}

export interface SelectBackendOptions {
  /** What it is wanted for: `training` gives wasm the kernels of gradients that it lacks, and takes no backend that lacks any; left out: any use. */
  readonly for?: "training";
  /** Only packages that bring this backend; left out: any. */
  readonly backend?: BackendName;
  /** Only this package; left out: any. */
  readonly package?: BackendPackage;
  /** Folder from which packages are looked up first; left out: the current one. */
  readonly from?: string;
}

/** What is tried, in this order. */
export const backendPackages: readonly (readonly [name: BackendPackage, backend: BackendName])[] = [
  ["@tensorflow/tfjs-node-gpu", "tensorflow"],
  ["@tensorflow/tfjs-node", "tensorflow"],
  ["@tensorflow/tfjs-backend-wasm", "wasm"],
  ["@tensorflow/tfjs-backend-cpu", "cpu"],
];

/** CUDA's absence, as no error tells it. */
const noDevice = "TensorFlow found no CUDA device, so it runs on the CPU";

/**
 * Makes the best backend that works here current: tfjs-node-gpu, else tfjs-node, wasm, cpu; and says which it took and why the earlier ones
 * failed. A native package is looked for where the user has it, then in the cache that `remat setup native` fills. Puts back what tfjs-node
 * needs and Node 23 removed (`util.isNullOrUndefined`).
 *
 * @throws RematError `NO_BACKEND` if none works, with every reason
 * @example
 * const { package: name, attempts } = await selectBackend({ for: "training" });
 * for (const { package: tried, reason } of attempts) if (reason !== "") console.error(`${tried}: ${reason}`);
 */
export async function selectBackend(options: SelectBackendOptions = {}): Promise<BackendSelection> {
  const attempts: BackendAttempt[] = [];
  for (const [name, backend] of backendPackages) {
    if (options.backend !== undefined && options.backend !== backend) continue;
    if (options.package !== undefined && options.package !== name) continue;
    const tried = await tryPackage(name, backend, options);
    if (typeof tried === "string") {
      const usesGpu = (tf.backend() as { isUsingGpuDevice?: boolean }).isUsingGpuDevice === true;
      const lacksDevice = name === "@tensorflow/tfjs-node-gpu" && !usesGpu;
      attempts.push({
        package: name,
        backend,
        selected: true,
        missing: lacksDevice ? "device" : undefined,
        reason: lacksDevice ? noDevice : "",
      });
      return { backend, package: name, path: tried, usesGpu, attempts };
    }
    attempts.push({ package: name, backend, selected: false, ...tried });
  }
  if (attempts.length === 0) {
    const wanted = [options.package, options.backend].filter((each) => each !== undefined).join(" for ");
    const known = backendPackages.map(([name, backend]) => `${name} for ${backend}`).join(", ");
    throw new RematError("NO_BACKEND", `no package that is loaded from disk is ${wanted}. Expected one of ${known}.`);
  }
  const reasons = attempts.map((attempt) => `${attempt.package}: ${attempt.reason.replace(/\.+$/, "")}`).join("; ");
  const native = attempts.some(({ backend }) => backend === "tensorflow");
  throw new RematError(
    "NO_BACKEND",
    `no backend works here${reasons === "" ? "" : `: ${reasons}`}. Install one of ${attempts.map((attempt) => attempt.package).join(", ")}${native ? ", or build the native one by remat setup native" : ""}.`,
  );
}

interface Failure {
  readonly missing: MissingPart;
  readonly reason: string;
}

/** The module that made `backend` current and does for what it is wanted for, or why none did. */
async function tryPackage(
  name: BackendPackage,
  backend: BackendName,
  options: SelectBackendOptions,
): Promise<string | Failure> {
  const tried = await tryPlaces(name, backend, resolve(options.from ?? process.cwd()));
  if (typeof tried !== "string" || options.for !== "training") return tried;
  if (backend === "wasm") provideGradientKernels();
  const lacking = missingGradientKernels(backend);
  if (lacking.length === 0) return tried;
  return { missing: "kernels", reason: `it cannot train everything, since it lacks kernels: ${lacking.join(", ")}` };
}

/** The module that made `backend` current, or why none did. */
async function tryPlaces(name: BackendPackage, backend: BackendName, from: string): Promise<string | Failure> {
  let failure: Failure | undefined;
  for (const path of backendPlaces(name, from)) {
    try {
      checkCached(path);
      await load(path, backend);
      return path;
    } catch (error) {
      // Why the user's own does not work tells more than what is in the cache.
      failure ??= { missing: classifyFailure(error), reason: oneLine(error) };
    }
  }
  return failure ?? { missing: "module", reason: `'${name}' is not installed in ${from}` };
}

/**
 * Returns the modules of a package that `selectBackend` would try, in this order: where the user has it, seen from the folder `from`, which with strict
 * package managers is not where this package would find it; here; for native ones in the cache. Nothing is loaded.
 *
 * @example
 * backendPlaces("@tensorflow/tfjs-node", process.cwd()); // ["/home/me/app/node_modules/@tensorflow/tfjs-node/dist/index.js"]
 */
export function backendPlaces(name: BackendPackage, from: string): readonly string[] {
  const places = [find(name, join(resolve(from), "package.json")), find(name, import.meta.url)];
  if (name.startsWith("@tensorflow/tfjs-node")) {
    const app = nativeAppFolder(name.slice("@tensorflow/".length) as NativePackage);
    if (existsSync(app)) places.push(find(name, join(app, "package.json")));
  }
  return [...new Set(places.filter((path) => path !== undefined))];
}

/** The module of a package as seen by a file. */
function find(name: string, from: string): string | undefined {
  try {
    return createRequire(from).resolve(name);
  } catch {
    return undefined;
  }
}

async function load(path: string, backend: BackendName): Promise<void> {
  const undo = backend === "tensorflow" ? prepareForNative() : () => {};
  try {
    await import(pathToFileURL(path).href);
    if (!(await tf.setBackend(backend))) throw new Error(`backend '${backend}' did not start`);
    await tf.ready();
  } finally {
    undo();
  }
}

/** Puts back what Node removed, for good, and keeps a second copy of tfjs from warning of each kernel that the first has registered. */
function prepareForNative(): () => void {
  const old = util as unknown as Record<string, unknown>;
  old["isNullOrUndefined"] ??= (value: unknown) => value === null || value === undefined;
  old["isArray"] ??= Array.isArray;
  const wasProduction = tf.env().getBool("PROD");
  tf.env().set("PROD", true);
  return () => tf.env().set("PROD", wasProduction);
}
