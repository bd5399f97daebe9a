import { homedir } from "node:os";
import { join } from "node:path";
import type { NativePackage } from "../backend.js";

/** The version of tfjs-node to build and look for, which matches the engine that the hook supports. */
export const nativeVersion = "4.22.0";

/** Names and values of environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns the folder of files that remat keeps between runs: `REMAT_CACHE_DIR`, otherwise `remat` in `XDG_CACHE_HOME`
 * (XDG base directory specification), otherwise in the system's cache folder. It may not exist.
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
 * Returns the folder in which `remat setup native` installs a package with its addon. `selectBackend` looks there after
 * the user's own packages. It may not exist.
 *
 * @example
 * nativeAppFolder("tfjs-node", { REMAT_CACHE_DIR: "/c" }); // "/c/native/tfjs-node-4.22.0"
 */
export function nativeAppFolder(name: NativePackage, env: Environment = process.env): string {
  return join(cacheFolder(env), "native", `${name}-${nativeVersion}`);
}
