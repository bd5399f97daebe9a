import { createHash, type Hash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, extname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** Files that affect results. Types, maps and texts do not. */
const code: ReadonlySet<string> = new Set([".js", ".mjs", ".cjs", ".ts", ".tsx", ".json", ".wasm"]);

/** Packages in the same repository as this one, which are released together. */
const ours = /^(?:@remat\/|remat$)/;

let known: string | undefined;

/**
 * Returns a hash of the code that computes results: all files of this package and of the remat packages that it needs,
 * and the versions of other packages. Two builds with different code have different hashes, whatever their versions.
 * Takes about 0.1 s, once, and only if a cache or a fleet is used.
 */
export function buildHash(): string {
  known ??= hashOf(fileURLToPath(import.meta.url));
  return known;
}

/** @internal */
export function hashOf(module: string): string {
  const hash = createHash("sha256");
  const root = packageOf(dirname(module));
  // Sources and their builds are in folders of the same name in every package.
  const [folder = ""] = relative(root, module).split(sep);
  const seen = new Set<string>();
  const open = [root];
  for (let at = open.shift(); at !== undefined; at = open.shift()) {
    if (seen.has(at)) continue;
    seen.add(at);
    const { name, dependencies } = manifestOf(at);
    addText(hash, name);
    const files = join(at, folder);
    addFolder(hash, existsSync(files) ? files : at);
    for (const dependency of Object.keys(dependencies).sort()) {
      const found = installedAt(dependency, at);
      if (found === undefined) addText(hash, `${dependency}: none`);
      else if (ours.test(dependency)) open.push(found);
      else addText(hash, `${dependency}@${manifestOf(found).version}`);
    }
  }
  return hash.digest("hex");
}

function addFolder(hash: Hash, folder: string): void {
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && code.has(extname(entry.name)) && !entry.name.endsWith(".d.ts"))
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .filter((path) => !path.split(sep).includes("node_modules"))
    .sort();
  for (const path of entries) {
    addText(hash, path.split(sep).join("/"));
    const content = readFileSync(join(folder, path));
    hash.update(`${content.length}\n`).update(content);
  }
}

/** Includes the length, so that two texts cannot be confused with one. */
function addText(hash: Hash, text: string): void {
  hash.update(`${text.length}\n${text}`);
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

function manifestOf(folder: string): Manifest {
  const {
    name = "",
    version = "",
    dependencies = {},
    peerDependencies = {},
  } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Partial<Manifest> & {
    readonly peerDependencies?: Readonly<Record<string, string>>;
  };
  return { name, version, dependencies: { ...dependencies, ...peerDependencies } };
}

/** The folder of the package that contains a folder. */
function packageOf(folder: string): string {
  if (existsSync(join(folder, "package.json"))) return folder;
  const above = dirname(folder);
  return above === folder ? folder : packageOf(above);
}

/**
 * Returns the real folder of a package: pnpm links it into the folder of each dependent. Undefined for a package that is
 * not installed: a peer that only some commands need.
 */
function installedAt(name: string, from: string): string | undefined {
  const folders = createRequire(join(from, "package.json")).resolve.paths(name) ?? [];
  const found = folders.map((folder) => join(folder, name)).find((folder) => existsSync(join(folder, "package.json")));
  return found === undefined ? undefined : realpathSync(found);
}
