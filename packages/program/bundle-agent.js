#!/usr/bin/env node
// Bundles the files that are loaded into a program: `preload.cjs`, with which each of its Node processes begins, and
// `agent.cjs`, which is loaded after TensorFlow.js. `watcher.cjs` ends the program if its runner is killed. They are
// CommonJS because the program's copy of tfjs-core is (in Node every 4.x is), and one file each so that loading is
// quick. The exception is `pure-packages.cjs`, which a program that uses remat itself shares with the agent, even
// before tfjs is loaded. `packages.json` lists the shared packages. The planner of `checkpoint`, which runs in its own
// thread, is bundled alongside.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const path = (/** @type {string} */ file) => fileURLToPath(new URL(file, import.meta.url));

/**
 * @param {string} folder output folder
 * @param {readonly string[]} [conditions] `@remat/source` to bundle from sources
 */
export async function bundleAgent(folder, conditions = []) {
  /** @satisfies {import("esbuild").BuildOptions} */
  const options = {
    bundle: true,
    platform: /** @type {const} */ ("node"),
    target: "node20.19",
    conditions: [...conditions],
    // The program's own copy of tfjs is used. The solver reads a file next to its own.
    external: ["@tensorflow/*", "highs"],
    logLevel: /** @type {const} */ ("error"),
  };
  const packages = {
    pure: await packagesIn("src/agent/pure-packages.ts", options),
    engine: await packagesIn("src/agent/engine-packages.ts", options),
  };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "packages.json"), JSON.stringify({ ...packages.pure, ...packages.engine }));
  const commonJs = {
    ...options,
    outdir: folder,
    outExtension: { ".js": ".cjs" },
    format: /** @type {const} */ ("cjs"),
    // Needed to find files next to the bundle.
    define: { "import.meta.url": "fileUrl" },
    banner: { js: 'const fileUrl = require("node:url").pathToFileURL(__filename).href;' },
  };
  await build({
    ...commonJs,
    entryPoints: [
      { in: path("src/preload/preload.ts"), out: "preload" },
      { in: path("src/agent/pure-packages.ts"), out: "pure-packages" },
      { in: path("src/watcher/watcher.ts"), out: "watcher" },
    ],
  });
  await build({
    ...commonJs,
    entryPoints: [{ in: path("src/agent/agent.ts"), out: "agent" }],
    plugins: [fromPurePackages(packages.pure)],
  });
  await build({
    ...options,
    entryPoints: [{ in: path("src/preload/own-packages/hooks.ts"), out: "hooks" }],
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    format: "esm",
  });
  await build({
    ...options,
    entryPoints: [{ in: path("../checkpoint/src/planning/planning-worker.ts"), out: "planning/planning-worker" }],
    outdir: folder,
    // An iife works whatever module type the folder declares for its files.
    format: "iife",
  });
}

/**
 * Lists the entry points that a file shares with the program, by specifier: version, exports, and the tfjs packages
 * that each loads.
 *
 * @param {string} file imports everything that it shares
 * @param {import("esbuild").BuildOptions} options
 * @returns {Promise<Record<string, import("./src/preload/own-packages/shared-package.js").SharedPackage>>}
 */
async function packagesIn(file, options) {
  const specifiers = [...readFileSync(path(file), "utf8").matchAll(/^import .* from "(.+)";$/gm)].map(
    ([, name = ""]) => name,
  );
  // One build that splits off what entry points share reads and parses each source once.
  const { metafile } = await build({
    ...options,
    entryPoints: specifiers.map((specifier, i) => ({ in: specifier, out: String(i) })),
    outdir: path("."),
    format: "esm",
    splitting: true,
    metafile: true,
    write: false,
    plugins: [namedEntries],
  });
  const inputs = Object.keys(metafile.inputs);
  const exportsOf = new Map(Object.values(metafile.outputs).map(({ entryPoint, exports }) => [entryPoint, exports]));
  return Object.fromEntries(
    specifiers.map((specifier) => {
      const { version, peerDependencies = {} } = manifestOf(inputs, specifier);
      const exports = exportsOf.get(`${namedEntries.name}:${specifier}`) ?? [];
      return [specifier, { version, exports, peers: Object.keys(peerDependencies) }];
    }),
  );
}

/**
 * Resolves entry points from this package. esbuild resolves them from the working directory.
 *
 * @type {import("esbuild").Plugin}
 */
const namedEntries = {
  name: "named-entry",
  setup(bundling) {
    bundling.onResolve({ filter: /./ }, ({ kind, path: specifier }) =>
      kind === "entry-point" ? { path: specifier, namespace: namedEntries.name } : undefined,
    );
    bundling.onLoad({ filter: /./, namespace: namedEntries.name }, ({ path: specifier }) => ({
      contents: `export * from ${JSON.stringify(specifier)};`,
      resolveDir: path("."),
    }));
  },
};

/**
 * @param {readonly string[]} inputs
 * @param {string} specifier
 * @returns {{ version: string, peerDependencies?: Record<string, string> }}
 */
function manifestOf(inputs, specifier) {
  const name = specifier.split("/").slice(0, 2).join("/");
  for (const input of inputs)
    for (let folder = dirname(input); folder !== dirname(folder); folder = dirname(folder)) {
      const file = join(folder, "package.json");
      if (!existsSync(file)) continue;
      const manifest = JSON.parse(readFileSync(file, "utf8"));
      if (manifest.name === name) return manifest;
      break;
    }
  throw new Error(`${specifier}: no package.json above its files`);
}

/**
 * Makes the agent take the packages from the file in which the program finds them, copying each export once on load.
 * CommonJS exports are getters, two per use, which would cost a hot path more than its work.
 *
 * @param {Readonly<Record<string, { readonly exports: readonly string[] }>>} packages by specifier
 * @returns {import("esbuild").Plugin}
 */
function fromPurePackages(packages) {
  return {
    name: "pure packages",
    setup(bundling) {
      bundling.onResolve({ filter: /^@remat\// }, ({ path: specifier }) =>
        specifier in packages ? { path: specifier, namespace: "pure-packages" } : undefined,
      );
      bundling.onResolve({ filter: /^\.\/pure-packages\.cjs$/, namespace: "pure-packages" }, ({ path: file }) => ({
        path: file,
        external: true,
      }));
      bundling.onLoad({ filter: /./, namespace: "pure-packages" }, ({ path: specifier }) => {
        const { exports = [] } = packages[specifier] ?? {};
        const place = `require("./pure-packages.cjs").purePackages[${JSON.stringify(specifier)}]`;
        return { contents: `export const { ${exports.join(", ")} } = ${place};` };
      });
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundleAgent(path("dist"));
