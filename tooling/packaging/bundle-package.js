#!/usr/bin/env node
// Compiles the package in the current folder to one file for each entry in its package.json's exports, and one for code
// that entries share, because Node takes about a third of a millisecond per module. If an entry has a `browser` or a
// `node-addons` condition, each source also becomes a module in dist/modules, because a bundler drops unused modules but
// not unused parts of one. Packages that import TensorFlow.js use `node-addons`, which Node has and bundlers do not.
// Declarations are written by tsc. Runs as the last part of a package's `build`: node
// ../../tooling/packaging/bundle-package.js [SOURCE of a thread]…
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/**
 * @param {string} folder of a package; each of its package.json's `exports` with a `@remat/source` is an entry
 * @param {readonly string[]} [threads] entry files of threads, which no other source imports
 */
export async function bundlePackage(folder, threads = []) {
  const { exports } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const sources = Object.values(exports)
    .flatMap((entry) => entry["@remat/source"] ?? [])
    .concat(threads);
  const dist = join(folder, "dist");
  for (const file of readdirSync(dist, { recursive: true, encoding: "utf8" }))
    if (file.endsWith(".js")) rmSync(join(dist, file));
  /** @type {import("esbuild").BuildOptions} */
  const options = { format: "esm", platform: "neutral", target: "node20.19", logLevel: "error" };
  const { metafile } = await build({
    ...options,
    entryPoints: sources.map((file) => join(folder, file)),
    outbase: join(folder, "src"),
    outdir: dist,
    chunkNames: "shared-[hash]",
    bundle: true,
    splitting: true,
    metafile: true,
    packages: "external",
    external: ["node:*"],
    plugins: [requireTensorFlow(folder)],
  });
  checkFilesBeside(Object.keys(metafile.outputs).map((file) => resolve(file)));
  if (!Object.values(exports).some((entry) => entry.browser ?? entry["node-addons"])) return;
  const all = readdirSync(join(folder, "src"), { recursive: true, encoding: "utf8" });
  await build({
    ...options,
    entryPoints: all.filter((file) => file.endsWith(".ts")).map((file) => join(folder, "src", file)),
    outdir: join(dist, "modules"),
    // A field without an initial value need not be emitted, which saves one percent of a page's code.
    tsconfigRaw: { compilerOptions: { useDefineForClassFields: false, verbatimModuleSyntax: true } },
  });
}

/**
 * Checks that the files that bundles find beside themselves exist: code that several entries share is in another folder
 * than its source.
 *
 * @param {readonly string[]} bundles
 */
function checkFilesBeside(bundles) {
  for (const bundle of bundles)
    for (const [, path] of readFileSync(bundle, "utf8").matchAll(/new URL\("([^"]+)", import\.meta\.url\)/g))
      if (!existsSync(join(dirname(bundle), path))) throw new Error(`${bundle} needs ${path}, which is not beside it`);
}

/**
 * Makes the bundle load TensorFlow.js, which is CommonJS, by `require`. For an `import`, Node also compiles its text to
 * detect the module format, and parses it to find the names of its exports. This takes longer than to load it.
 *
 * @param {string} folder
 * @returns {import("esbuild").Plugin}
 */
function requireTensorFlow(folder) {
  const require = createRequire(join(resolve(folder), "package.json"));
  return {
    name: "require TensorFlow.js",
    setup(bundling) {
      bundling.onResolve({ filter: /^@tensorflow\/tfjs-(?:core|layers)$/ }, ({ path, kind }) =>
        kind === "import-statement" ? { path, namespace: "required", sideEffects: false } : undefined,
      );
      bundling.onLoad({ filter: /./, namespace: "required" }, ({ path }) => ({
        contents: `import { createRequire } from "node:module";
export const { ${Object.keys(require(path)).join(", ")} } = createRequire(import.meta.url)("${path}");`,
      }));
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundlePackage(resolve("."), process.argv.slice(2));
