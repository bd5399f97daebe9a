import { mkdir, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { runCommand } from "./run-command.js";

/**
 * @typedef {object} Installed
 * @property {string} name `npm`, `pnpm`
 * @property {string} folder
 * @property {(page: import("./pages.js").Page) => string} folderOf the folder of a page's program
 */

/**
 * @typedef {object} Stock
 * @property {readonly import("./workspace.js").Package[]} packages of the workspace
 * @property {ReadonlyMap<string, string>} tarballs by name
 * @property {Readonly<Record<string, string>>} versions of external packages; the newest for one that is not listed
 * @property {string} [browserPath] of a Chromium, in which web pages are opened. Left out: they are only bundled
 */

/** Types that a TypeScript user of Node has. */
const typesOfNode = "@types/node";

/**
 * Installs everything that pages need into one folder with npm, where dependencies of one package are visible to
 * others.
 *
 * @param {readonly import("./pages.js").Page[]} pages
 * @param {Stock} stock
 * @param {string} folder
 * @returns {Promise<Installed>}
 */
export async function installByNpm(pages, { packages, tarballs, versions }, folder) {
  const wanted = new Set([typesOfNode, ...pages.flatMap(({ installs }) => installs)]);
  for (const { name } of packages) wanted.delete(name);
  await writeManifest(folder, {});
  const others = [...wanted].map((name) => `${name}@${versions[name] ?? "latest"}`);
  const flags = ["--no-audit", "--no-fund", "--no-save", "--prefer-offline", "--loglevel=error"];
  await runCommand("npm", ["install", ...flags, ...tarballs.values(), ...others], { cwd: folder });
  return { name: "npm", folder, folderOf: ({ name }) => join(folder, "pages", name) };
}

/**
 * Installs exactly what each page names with pnpm, so that pages and packages cannot import undeclared dependencies.
 *
 * @param {readonly import("./pages.js").Page[]} pages
 * @param {Stock} stock
 * @param {string} folder
 * @returns {Promise<Installed>}
 */
export async function installByPnpm(pages, { tarballs, versions }, folder) {
  await writeManifest(folder, { [typesOfNode]: versions[typesOfNode] ?? "latest" });
  const file = (/** @type {string} */ tarball) => `file:${tarball}`;
  for (const { name, installs } of pages) {
    const specifier = (/** @type {string} */ wanted) => {
      const tarball = tarballs.get(wanted);
      return tarball === undefined ? (versions[wanted] ?? "latest") : file(tarball);
    };
    await writeManifest(
      join(folder, "pages", name),
      Object.fromEntries(installs.map((wanted) => [wanted, specifier(wanted)])),
    );
  }
  const overrides = [...tarballs].map(([name, tarball]) => `  "${name}": "${file(tarball)}"`);
  const settings = [
    `packages: ${JSON.stringify(pages.map(({ name }) => `pages/${name}`))}`,
    // pnpm would find all undeclared packages in its own store. This allows only the one that tfjs 4 requires without
    // declaring it.
    "hoistPattern: [long]",
    "allowBuilds: { core-js: false, msgpackr-extract: false, esbuild: false }",
    ...(overrides.length === 0 ? [] : ["overrides:", ...overrides]),
  ];
  await writeFile(join(folder, "pnpm-workspace.yaml"), `${settings.join("\n")}\n`);
  await runCommand("pnpm", ["install", "--prefer-offline", "--no-frozen-lockfile"], { cwd: folder });
  return { name: "pnpm", folder, folderOf: ({ name }) => join(folder, "pages", name) };
}

/**
 * @param {string} folder
 * @param {Readonly<Record<string, string>>} dependencies
 */
async function writeManifest(folder, dependencies) {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, type: "module", dependencies }));
}

/**
 * Type-checks the programs of all pages as strict TypeScript, and compiles them to JavaScript.
 *
 * @param {readonly import("./pages.js").Page[]} pages
 * @param {Installed} installed
 * @param {string} tsc path of the compiler
 * @returns {Promise<ReadonlyMap<string, readonly string[]>>} problems, by name of the page
 */
export async function compilePages(pages, { folder, folderOf }, tsc) {
  const files = [];
  for (const page of pages) {
    if (page.program === undefined) continue;
    await mkdir(folderOf(page), { recursive: true });
    const file = join(folderOf(page), "program.ts");
    await writeFile(file, page.program);
    files.push(relative(folder, file));
  }
  if (files.length === 0) return new Map();
  const compilerOptions = { strict: true, module: "nodenext", target: "es2022", types: ["node"], skipLibCheck: true };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
  /** @type {string} */
  const output = await runCommand(process.execPath, [tsc, "-p", "tsconfig.json", "--pretty", "false"], {
    cwd: folder,
  }).catch((error) => error.output ?? String(error));
  /** @type {Map<string, string[]>} */
  const problems = new Map();
  let of = "";
  for (const line of output.split("\n").filter((text) => text.trim() !== "")) {
    of = /^pages\/([^/]+)\/program\.ts/.exec(line)?.[1] ?? of;
    problems.set(of, [...(problems.get(of) ?? []), line]);
  }
  return problems;
}
