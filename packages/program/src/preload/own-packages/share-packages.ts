import Module, { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { ProgramIo } from "../../outside/program-io.js";
import * as hooks from "./hooks.js";
import { packageRegistry } from "./module-text.js";
import { ownVersion, packageOf } from "./own-version.js";
import type { SharedPackages } from "./shared-package.js";

/** The internals of Node's module loader that are used here. `registerHooks` exists since Node 22.15. */
interface Loader {
  _load(request: string, parent: { readonly filename?: string } | null | undefined, isMain: boolean): unknown;
  _resolveFilename(request: string, parent: unknown): string;
  registerHooks?(given: Pick<typeof hooks, "resolve" | "load">): void;
}

/**
 * If a program imports packages of remat, makes it use the agent's copy of each package that has the same version.
 * There is then only one hook on the engine, and the agent sees the program's own checkpoints, budgets and recordings.
 *
 * @param folder contains `packages.json` and the files next to it
 * @param packagesOfAgent the packages that depend on tfjs, after it is loaded
 */
export function sharePackages(
  folder: string,
  packagesOfAgent: () => Readonly<Record<string, object>> | undefined,
  io: ProgramIo,
): void {
  const around = [dirname(process.argv[1] ?? ""), io.workingFolder()];
  if (!around.some((each) => each !== undefined && hasOurs(each, io))) return;
  const packages = readPackages(io.readNeeded(join(folder, "packages.json")));
  const pureFile = join(folder, "pure-packages.cjs");
  const pure = io.load(pureFile) as { readonly purePackages: Readonly<Record<string, object>> } | undefined;
  // The program uses its own copies, which reject a second hook on the engine. The agent therefore leaves the program
  // alone.
  if (packages === undefined || pure === undefined) return io.standBack();
  const ours = (specifier: string): object | undefined =>
    pure.purePackages[specifier] ?? packagesOfAgent()?.[specifier];
  Object.defineProperty(globalThis, Symbol.for(packageRegistry), { value: ours, configurable: true });
  const loader = Module as unknown as Loader;
  const load = loader._load;
  loader._load = function (this: unknown, request, parent, isMain) {
    const shared = typeof request === "string" && Object.hasOwn(packages, request) ? packages[request] : undefined;
    if (typeof request !== "string" || shared === undefined || isOurs(parent?.filename))
      return load.call(this, request, parent, isMain);
    const file = loader._resolveFilename(request, parent);
    const { version, peers } = shared;
    if (ownVersion(file, packageOf(request), io) !== version) return load.call(this, request, parent, isMain);
    for (const peer of peers) createRequire(file)(peer);
    return ours(request) ?? load.call(this, request, parent, isMain);
  };
  function isOurs(file: string | undefined): boolean {
    return file !== undefined && dirname(file) === folder;
  }
  if (loader.registerHooks !== undefined) {
    hooks.initialize(packages);
    loader.registerHooks(hooks);
  } else if (!io.registerHooks(pathToFileURL(join(folder, "hooks.mjs")).href, packages)) io.standBack();
}

function readPackages(text: string | undefined): SharedPackages | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as SharedPackages);
  } catch {
    // Another version of remat is being installed over this one.
    return undefined;
  }
}

/** Returns whether any of remat's packages is installed for programs in a folder. */
function hasOurs(folder: string, io: ProgramIo): boolean {
  const modules = join(folder, "node_modules");
  if (io.exists(join(modules, "@remat")) || io.exists(join(modules, "remat"))) return true;
  return folder !== dirname(folder) && hasOurs(dirname(folder), io);
}
