import { existsSync, readFileSync } from "node:fs";
import Module, { createRequire, register } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import * as hooks from "./hooks.js";
import { packageRegistry } from "./module-text.js";
import { ownVersion, packageOf } from "./own-version.js";
import type { SharedPackages } from "./shared-package.js";

/** As much of Node's own as is used: the second since Node 22.15. */
interface Loader {
  _load(request: string, parent: { readonly filename?: string } | null | undefined, isMain: boolean): unknown;
  _resolveFilename(request: string, parent: unknown): string;
  registerHooks?(given: Pick<typeof hooks, "resolve" | "load">): void;
}

/**
 * Has a program that uses remat itself use the agent's copy of our packages, where its own are of the same version: there is one hook on the engine then, and
 * checkpoints by hand, budgets and recordings of its own are seen by ours as they see each other.
 *
 * @param folder of `packages.json` and the files beside it
 * @param packagesOfAgent the packages that see tfjs, once that is loaded
 */
export function sharePackages(folder: string, packagesOfAgent: () => Readonly<Record<string, object>>): void {
  if (![dirname(process.argv[1] ?? ""), process.cwd()].some(hasOurs)) return;
  const packages = JSON.parse(readFileSync(join(folder, "packages.json"), "utf8")) as SharedPackages;
  const pureFile = join(folder, "pure-packages.cjs");
  const ours = (specifier: string): object => {
    const { purePackages } = createRequire(pureFile)(pureFile) as { purePackages: Readonly<Record<string, object>> };
    return purePackages[specifier] ?? packagesOfAgent()[specifier];
  };
  Object.defineProperty(globalThis, Symbol.for(packageRegistry), { value: ours, configurable: true });
  const loader = Module as unknown as Loader;
  const load = loader._load;
  loader._load = function (this: unknown, request, parent, isMain) {
    if (typeof request !== "string" || !Object.hasOwn(packages, request) || isOurs(parent?.filename))
      return load.call(this, request, parent, isMain);
    const file = loader._resolveFilename(request, parent);
    const { version, peers } = packages[request];
    if (ownVersion(file, packageOf(request)) !== version) return load.call(this, request, parent, isMain);
    for (const peer of peers) createRequire(file)(peer);
    return ours(request);
  };
  function isOurs(file: string | undefined): boolean {
    return file !== undefined && dirname(file) === folder;
  }
  if (loader.registerHooks !== undefined) {
    hooks.initialize(packages);
    loader.registerHooks(hooks);
  } else register(pathToFileURL(join(folder, "hooks.mjs")).href, { data: packages });
}

/** Tells whether what is installed for programs of a folder holds any of ours. */
function hasOurs(folder: string): boolean {
  const modules = join(folder, "node_modules");
  if (existsSync(join(modules, "@remat")) || existsSync(join(modules, "remat"))) return true;
  return folder !== dirname(folder) && hasOurs(dirname(folder));
}
