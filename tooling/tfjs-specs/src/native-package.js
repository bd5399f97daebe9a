import { existsSync } from "node:fs";
import { join } from "node:path";

/**
 * The package with the native backend in a folder, preferring the one for GPUs, or undefined if there is none with an
 * addon.
 *
 * @param {string | undefined} app
 * @returns {{ name: string, folder: string } | undefined}
 */
export function findNativePackage(app) {
  if (app === undefined) return undefined;
  for (const name of ["tfjs-node-gpu", "tfjs-node"]) {
    const folder = join(app, "node_modules/@tensorflow", name);
    if (existsSync(join(folder, "lib/napi-v8/tfjs_binding.node"))) return { name, folder };
  }
  return undefined;
}
