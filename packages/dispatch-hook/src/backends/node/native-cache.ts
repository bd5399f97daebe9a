import { homedir } from "node:os";
import { join } from "node:path";
import type { NativePackage } from "../backend.js";

/** The version of tfjs-node that is built and looked for: that of the engine that the hook knows. */
export const nativeVersion = "4.22.0";

/** Names and values of environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns the folder of what remat keeps between runs: `REMAT_CACHE_DIR`, else `remat` in `XDG_CACHE_HOME` (as the XDG base directory specification
 * has it), else in the place for caches of the system. It need not exist.
 *
 * @example
 * cacheFolder({ REMAT_CACHE_DIR: "/var/cache/remat" }); // "/var/cache/remat"
 */
export function cacheFolder(env: Environment = process.env): string {
  const { REMAT_CACHE_DIR: own, XDG_CACHE_HOME: caches } = env;
  if (own !== undefined && own !== "") return own;
  if (caches !== undefined && caches !== "") return join(caches, "remat");
  return process.platform === "darwin" ? join(homedir(), "Library/Caches/remat") : join(homedir(), ".cache/remat");
}

/**
 * Returns the folder into which `remat setup native` installs a package with its addon, and in which `selectBackend` looks for it after the user's
 * own. It need not exist.
 *
 * @example
 * nativeAppFolder("tfjs-node", { REMAT_CACHE_DIR: "/c" }); // "/c/native/tfjs-node-4.22.0"
 */
export function nativeAppFolder(name: NativePackage, env: Environment = process.env): string {
  return join(cacheFolder(env), "native", `${name}-${nativeVersion}`);
}
