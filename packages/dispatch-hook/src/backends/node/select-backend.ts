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

/** Result of trying a package that provides a backend. */
export interface BackendAttempt {
  readonly package: string;
  readonly backend: BackendName;
  /** True if it was selected. */
  readonly selected: boolean;
  /**
   * Why it was not selected (see `MissingPart`). Undefined if nothing is missing. `device` means that the package was
   * selected although it found no GPU and runs on the CPU.
   */
  readonly missing: MissingPart | "device" | undefined;
  /** The error in one line. Empty if there was none. */
  readonly reason: string;
}

/** Result of `selectBackend`. */
export interface BackendSelection {
  readonly backend: BackendName;
  readonly package: string;
  /** Path of the loaded module: the user's, or the one in the cache that `remat setup native` fills. */
  readonly path: string;
  /** True if a GPU is used. Without one, tfjs-node-gpu falls back to the CPU. */
  readonly usesGpu: boolean;
  /** All attempts in order. The last one was selected. */
  readonly attempts: readonly BackendAttempt[];
}

/** Options of `selectBackend`. */
export interface SelectBackendOptions {
  /**
   * Purpose of the backend. `training` adds missing gradient kernels to wasm, and rejects backends that lack any.
   * Default: any use.
   */
  readonly for?: "training";
  /** Use only packages of this backend. Default: any. */
  readonly backend?: BackendName | undefined;
  /** Use only this package. Default: any. */
  readonly package?: string;
  /** Folder from which packages are resolved first. Default: the current one. */
  readonly from?: string;
}

/**
 * Makes the best backend that works here current: tfjs-node-gpu, tfjs-node, wasm or cpu. It returns which one it
 * selected, and why better ones failed. A native package is looked for in the user's dependencies, then in the cache
 * that `remat setup native` fills. `startBackend` starts each package.
 *
 * @throws RematError `NO_BACKEND` if none works, with all reasons
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
 * Returns `device` if a working package is for GPUs but found none, with the reason.
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
      `${asked} is not a backend package that remat supports. Choose one of ${expected}.`,
    );
  }
  const reasons = attempts
    .map((attempt) => `${attempt.package}: ${attempt.reason.replace(/(?<!\.)\.+$/, "")}`)
    .join("; ");
  const tried = attempts.map((attempt) => attempt.package);
  const builds = tried.flatMap((name) => findPackage(name)?.built?.by ?? []);
  return new RematError(
    "NO_BACKEND",
    `no backend works on this machine: ${reasons}. ` +
      `Install one of ${tried.join(", ")}${builds.length === 0 ? "" : `, or build one with ${builds.join(" or ")}`}.`,
  );
}

interface Failure {
  readonly missing: MissingPart;
  readonly reason: string;
}

/** Returns the module that made `backend` current and supports the purpose, or why none did. */
async function tryPlaces(name: string, backend: Backend, options: SelectBackendOptions): Promise<string | Failure> {
  const from = resolve(options.from ?? process.cwd());
  let failure: Failure | undefined;
  for (const path of backendPlaces(name, from)) {
    try {
      checkCached(path);
      await startBackend({ backend: backend.name, path }, options);
      return path;
    } catch (error) {
      // The failure of the user's own package is more informative than that of the cache.
      failure ??= { missing: classifyFailure(error), reason: oneLine(error) };
    }
  }
  return failure ?? { missing: "module", reason: `'${name}' is not installed in ${from}` };
}
