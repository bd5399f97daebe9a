import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import util from "node:util";
import { RematError } from "@remat/trace";
import * as tf from "@tensorflow/tfjs-core";

/** Names of backends as tfjs-core registers them. */
export type BackendName = "tensorflow" | "wasm" | "cpu";

/** A package that brings a backend, and what came of trying it. */
export interface BackendAttempt {
  readonly package: string;
  readonly backend: BackendName;
  readonly selected: boolean;
  /** Why not: `module` not installed, native `addon` not built, shared `library` missing, `start` failed. Undefined if it was selected. */
  readonly missing: "module" | "addon" | "library" | "start" | undefined;
  /** What went wrong, on one line; empty if nothing did. */
  readonly reason: string;
}

export interface BackendSelection {
  readonly backend: BackendName;
  readonly package: string;
  /** tfjs-node-gpu only: whether a CUDA device is used; it falls back to the CPU without one. */
  readonly usesGpu: boolean;
  /** Everything that was tried, in order; the last one was selected. */
  readonly attempts: readonly BackendAttempt[];
}

export interface SelectBackendOptions {
  /** Only packages that bring this backend; left out: any. */
  readonly backend?: BackendName;
  /** Folder from which packages are looked up first; left out: the current one. */
  readonly from?: string;
}

const candidates: readonly (readonly [name: string, backend: BackendName])[] = [
  ["@tensorflow/tfjs-node-gpu", "tensorflow"],
  ["@tensorflow/tfjs-node", "tensorflow"],
  ["@tensorflow/tfjs-backend-wasm", "wasm"],
  ["@tensorflow/tfjs-backend-cpu", "cpu"],
];

/**
 * Makes the best backend that works here current: tfjs-node-gpu, else tfjs-node, wasm, cpu; and says which it took and why the earlier ones
 * failed. Puts back what tfjs-node needs and Node 23 removed (`util.isNullOrUndefined`).
 *
 * @throws RematError `NO_BACKEND` if none works, with every reason
 * @example
 * const { package: name, attempts } = await selectBackend();
 * for (const { package: tried, reason } of attempts) if (reason !== "") console.error(`${tried}: ${reason}`);
 */
export async function selectBackend(options: SelectBackendOptions = {}): Promise<BackendSelection> {
  const attempts: BackendAttempt[] = [];
  for (const [name, backend] of candidates) {
    if (options.backend !== undefined && options.backend !== backend) continue;
    const failure = await tryBackend(name, backend, options.from ?? process.cwd());
    const missing = failure === undefined ? undefined : classify(failure, name);
    attempts.push({
      package: name,
      backend,
      selected: failure === undefined,
      missing,
      reason: failure === undefined ? "" : oneLine(failure),
    });
    if (failure === undefined) {
      const { isUsingGpuDevice } = tf.backend() as { isUsingGpuDevice?: boolean };
      return { backend, package: name, usesGpu: isUsingGpuDevice === true, attempts };
    }
  }
  const reasons = attempts.map((attempt) => `${attempt.package}: ${attempt.reason}`).join("; ");
  throw new RematError(
    "NO_BACKEND",
    `no backend works here: ${reasons}. Install one of ${attempts.map((attempt) => attempt.package).join(", ")}.`,
  );
}

/** Undefined if the backend is current now, else what went wrong. */
async function tryBackend(name: string, backend: BackendName, from: string): Promise<unknown> {
  try {
    if (backend === "tensorflow") restoreUtil();
    await import(locate(name, from));
    if (!(await tf.setBackend(backend))) return new Error(`backend '${backend}' did not start`);
    await tf.ready();
    return undefined;
  } catch (error) {
    return error ?? new Error("unknown failure");
  }
}

/** Where the user has the package, which with strict package managers is not where this package would find it. */
function locate(name: string, from: string): string {
  try {
    return pathToFileURL(createRequire(join(from, "package.json")).resolve(name)).href;
  } catch {
    return name;
  }
}

function restoreUtil(): void {
  const old = util as unknown as Record<string, unknown>;
  old["isNullOrUndefined"] ??= (value: unknown) => value === null || value === undefined;
  old["isArray"] ??= Array.isArray;
}

function classify(failure: unknown, name: string): NonNullable<BackendAttempt["missing"]> {
  const { code, message } = failure as Error & { code?: string };
  if (/tfjs_binding\.node|native addon/i.test(message))
    return /cannot open shared object|libtensorflow/i.test(message) ? "library" : "addon";
  if (/cannot open shared object|\.so\b|\.dylib\b|\.dll\b/.test(message)) return "library";
  if ((code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND") && message.includes(name)) return "module";
  return "start";
}

function oneLine(failure: unknown): string {
  const [line] = (failure instanceof Error ? failure.message : String(failure))
    .split("\n")
    .filter((text) => text.trim() !== "");
  return (line ?? "").trim().slice(0, 300);
}
