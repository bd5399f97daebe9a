import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { findPackage } from "./backend-packages.js";
import { nativeAppFolder } from "./native-cache.js";

/**
 * Returns the modules of a package that `selectBackend` would try, in order. The first is the user's, resolved from the
 * folder `from`, because strict package managers hide it from this package. Then come the module that this package
 * finds and, for native packages, the one in the cache. Nothing is loaded.
 *
 * @example
 * backendPlaces("@tensorflow/tfjs-node", process.cwd()); // ["/home/me/app/node_modules/@tensorflow/tfjs-node/dist/index.js"]
 */
export function backendPlaces(name: string, from: string): readonly string[] {
  const places = [find(name, join(resolve(from), "package.json")), find(name, import.meta.url)];
  const built = findPackage(name)?.built;
  if (built !== undefined) {
    const app = nativeAppFolder(built.as);
    if (existsSync(app)) places.push(find(name, join(app, "package.json")));
  }
  return [...new Set(places.filter((path) => path !== undefined))];
}

/** Resolves the module of a package from a file. */
function find(name: string, from: string): string | undefined {
  try {
    return createRequire(from).resolve(name);
  } catch {
    return undefined;
  }
}
