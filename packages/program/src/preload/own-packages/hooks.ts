import { fileURLToPath } from "node:url";
import { ProgramIo } from "../../outside/program-io.js";
import { moduleText } from "./module-text.js";
import { ownVersion, packageOf } from "./own-version.js";
import type { SharedPackage, SharedPackages } from "./shared-package.js";

interface Resolved {
  readonly url: string;
  readonly format?: string | null | undefined;
  readonly shortCircuit?: boolean;
}

interface Loaded {
  readonly format: string;
  readonly source?: unknown;
  readonly shortCircuit?: boolean;
}

type Hook<Context, Result> = (
  request: string,
  context: Context,
  next: (request: string, context?: Context) => Result | Promise<Result>,
) => Result | Promise<Result>;

/** Suffix of the URLs that stand for the program's own copies of remat's packages. */
const mark = "?remat-shared=";
let shared: ReadonlyMap<string, SharedPackage> = new Map();
const io = new ProgramIo({});

/** Receives the shared packages: called by `module.register` in the hooks' thread, or directly in the program's. */
export function initialize(packages: SharedPackages): void {
  shared = new Map(Object.entries(packages));
}

/** Resolves a specifier of one of remat's packages to the shared copy, if the program's copy has the same version. */
export const resolve: Hook<unknown, Resolved> = (specifier, context, next) => {
  const resolved = next(specifier, context);
  const ours = shared.get(specifier);
  if (ours === undefined) return resolved;
  const replace = (own: Resolved): Resolved =>
    own.url.startsWith("file:") &&
    !own.url.includes(mark) &&
    ownVersion(fileURLToPath(own.url), packageOf(specifier), io) === ours.version
      ? { url: `${own.url}${mark}${specifier}`, format: "module", shortCircuit: true }
      : own;
  return resolved instanceof Promise ? resolved.then(replace) : replace(resolved);
};

export const load: Hook<unknown, Loaded> = (url, context, next) => {
  const specifier = url.split(mark)[1];
  const ours = specifier === undefined ? undefined : shared.get(specifier);
  if (specifier === undefined || ours === undefined) return next(url, context);
  return { format: "module", source: moduleText(specifier, ours), shortCircuit: true };
};
