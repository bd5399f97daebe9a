import { resolve } from "node:path";
import { RematError } from "@remat/trace";
import * as tf from "@tensorflow/tfjs-core";
import type { Backend, BackendPackage } from "../backend.js";
import type { BackendName } from "../find-backend.js";
import { classifyFailure, type MissingPart, oneLine } from "./backend-failure.js";
import { backendPackages, findPackage } from "./backend-packages.js";
import { backendPlaces } from "./backend-places.js";
import { checkCached } from "./check-cached.js";
import { startBackend } from "./start-backend.js";

/** A package that brings a backend, and what came of trying it. */
export interface BackendAttempt {
  readonly package: string;
  readonly backend: BackendName;
  readonly selected: boolean;
  /**
   * Why not: `module` not installed, native `addon` not built, shared `library` missing, no `trust` in who can have changed it, `start` failed, `kernels`
   * missing that it is wanted for.
   * Undefined if nothing is; `device` if the package was selected although it found no GPU that it is for, and runs on the CPU.
   */
  readonly missing: MissingPart | "device" | undefined;
  /** What went wrong, on one line; empty if nothing did. */
  readonly reason: string;
}

export interface BackendSelection {
  readonly backend: BackendName;
  readonly package: string;
  /** The module that was loaded: the user's, or the one in the cache that `remat setup native` fills. */
  readonly path: string;
  /** Whether a GPU is used; tfjs-node-gpu falls back to the CPU without one. */
  readonly usesGpu: boolean;
  /** Everything that was tried, in order; the last one was selected. */
  readonly attempts: readonly BackendAttempt[];
}

export interface SelectBackendOptions {
  /** What it is wanted for: `training` gives wasm the kernels of gradients that it lacks, and takes no backend that lacks any; left out: any use. */
  readonly for?: "training";
  /** Only packages that bring this backend; left out: any. */
  readonly backend?: BackendName | undefined;
  /** Only this package; left out: any. */
  readonly package?: string;
  /** Folder from which packages are looked up first; left out: the current one. */
  readonly from?: string;
}

/**
 * Makes the best backend that works here current: tfjs-node-gpu, else tfjs-node, wasm, cpu; and says which it took and why the earlier ones
 * failed. A native package is looked for where the user has it, then in the cache that `remat setup native` fills. Each is started by `startBackend`.
 *
 * @throws RematError `NO_BACKEND` if none works, with every reason
 * @example
 * const { package: name, attempts } = await selectBackend({ for: "training" });
 * for (const { package: tried, reason } of attempts) if (reason !== "") console.error(`${tried}: ${reason}`);
 */
export async function selectBackend(options: SelectBackendOptions = {}): Promise<BackendSelection> {
  const attempts: BackendAttempt[] = [];
  for (const { package: brought, backend } of backendPackages()) {
    if (options.backend !== undefined && options.backend !== backend.name) continue;
    if (options.package !== undefined && options.package !== brought.name) continue;
    const named = { package: brought.name, backend: backend.name as BackendName };
    const tried = await tryPlaces(brought.name, backend, options);
    if (typeof tried === "string") {
      const usesGpu = usesGpuNow(backend);
      attempts.push({ ...named, selected: true, ...lackOfGpu(brought, usesGpu) });
      return { ...named, path: tried, usesGpu, attempts };
    }
    attempts.push({ ...named, selected: false, ...tried });
  }
  throw noneWorks(options, attempts);
}

/**
 * Returns whether the current instance of a backend computes on a GPU.
 *
 * @example
 * usesGpuNow(findBackend("tensorflow")); // true where tfjs-node-gpu found a CUDA device
 */
export function usesGpuNow({ deviceOf }: Backend): boolean {
  return deviceOf(tf.backend()).device.startsWith("cuda");
}

/**
 * Returns what a package that works lacks: `device`, if it is for a GPU and found none; else nothing.
 *
 * @example
 * lackOfGpu(findPackage("@tensorflow/tfjs-node-gpu"), false).missing; // "device"
 */
export function lackOfGpu(
  { withoutGpu }: BackendPackage,
  usesGpu: boolean,
): { readonly missing: "device" | undefined; readonly reason: string } {
  if (withoutGpu === undefined || usesGpu) return { missing: undefined, reason: "" };
  return { missing: "device", reason: withoutGpu.reason };
}

function noneWorks(wanted: SelectBackendOptions, attempts: readonly BackendAttempt[]): RematError {
  const known = backendPackages();
  if (attempts.length === 0) {
    const asked = [wanted.package, wanted.backend].filter((each) => each !== undefined).join(" for ");
    const expected = known.map((each) => `${each.package.name} for ${each.backend.name}`).join(", ");
    return new RematError(
      "NO_BACKEND",
      `no package that is loaded from disk is ${asked}. Expected one of ${expected}.`,
    );
  }
  const reasons = attempts
    .map((attempt) => `${attempt.package}: ${attempt.reason.replace(/(?<!\.)\.+$/, "")}`)
    .join("; ");
  const tried = attempts.map((attempt) => attempt.package);
  const builds = tried.flatMap((name) => findPackage(name)?.built?.by ?? []);
  return new RematError(
    "NO_BACKEND",
    `no backend works here: ${reasons}. Install one of ${tried.join(", ")}${builds.length === 0 ? "" : `, or build one by ${builds.join(" or ")}`}.`,
  );
}

interface Failure {
  readonly missing: MissingPart;
  readonly reason: string;
}

/** The module that made `backend` current and does for what it is wanted for, or why none did. */
async function tryPlaces(name: string, backend: Backend, options: SelectBackendOptions): Promise<string | Failure> {
  const from = resolve(options.from ?? process.cwd());
  let failure: Failure | undefined;
  for (const path of backendPlaces(name, from)) {
    try {
      checkCached(path);
      await startBackend({ backend: backend.name, path }, options);
      return path;
    } catch (error) {
      // Why the user's own does not work tells more than what is in the cache.
      failure ??= { missing: classifyFailure(error), reason: oneLine(error) };
    }
  }
  return failure ?? { missing: "module", reason: `'${name}' is not installed in ${from}` };
}
