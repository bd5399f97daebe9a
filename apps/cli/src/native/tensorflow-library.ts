import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "@remat/dispatch-hook/backends/node";
import { runPython } from "./run-python.js";

/** The library to build an addon against: two shared libraries and the C headers. */
export interface TensorFlowLibrary {
  /** Contains `libtensorflow_cc.so.2`, `libtensorflow_framework.so.2` and `include`. */
  readonly folder: string;
  /** Its origin: named by the caller, installed for Python, already in the cache, or downloaded now. */
  readonly origin: "given" | "installed" | "cached" | "fetched";
}

/** @internal */
export const libraryNames: readonly string[] = ["libtensorflow_cc.so.2", "libtensorflow_framework.so.2"];

/**
 * Returns a file that a build needs and the folder lacks, or undefined if the folder is complete.
 *
 * @internal
 */
export function missingFromLibrary(folder: string): string | undefined {
  return [...libraryNames, "include/tensorflow/c/eager/c_api.h"].find((file) => !existsSync(join(folder, file)));
}

/**
 * The TensorFlow that Python would import, if it can be built against and has CUDA if required.
 *
 * @internal
 */
export async function findInstalled(needsCuda: boolean, env: Environment): Promise<TensorFlowLibrary | undefined> {
  const find =
    'import importlib.util as u; s = u.find_spec("tensorflow"); print(s.submodule_search_locations[0] if s else "")';
  const { code, stdout } = await runPython(["-c", find], env);
  const folder = stdout.trim().split("\n").at(-1) ?? "";
  if (code !== 0 || folder === "" || missingFromLibrary(folder) !== undefined) return undefined;
  if (needsCuda && !knowsCuda(folder)) return undefined;
  return { folder, origin: "installed" };
}

function knowsCuda(folder: string): boolean {
  const info = join(folder, "python/platform/build_info.py");
  return existsSync(info) && /['"]?is_cuda_build['"]?\s*[:=]\s*True/.test(readFileSync(info, "utf8"));
}
