#!/usr/bin/env node
// Bundles what is loaded into a program: `preload.cjs`, which every Node process of it begins with, and `agent.cjs`, which is loaded once TensorFlow.js
// is; and `watcher.cjs`, which ends the program where its runner was killed. CommonJS, since the program's copy of tfjs-core is (in Node every 4.x is), and one file each, so that the program waits for nothing;
// but for `pure-packages.cjs`, which a program that uses remat itself shares with the agent, also before tfjs is there. `packages.json` tells what is shared. Beside them what
// `checkpoint` plans with, in a thread of its own.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const path = (/** @type {string} */ file) => fileURLToPath(new URL(file, import.meta.url));

/**
 * @param {string} folder where the files go
 * @param {readonly string[]} [conditions] `@remat/source` to bundle from sources
 */
export async function bundleAgent(folder, conditions = []) {
  /** @satisfies {import("esbuild").BuildOptions} */
  const options = {
    bundle: true,
    platform: /** @type {const} */ ("node"),
    target: "node20.19",
    conditions: [...conditions],
    // The program's own copy of tfjs; the solver reads a file that lies beside it.
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
    // Of what is beside a file of ours.
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
    // Whatever the folder says of its files.
    format: "iife",
  });
}

/**
 * Tells of each entry point that a file shares with the program, by its specifier: of which version it is, its exports, and which packages of tfjs it loads.
 *
 * @param {string} file that imports all that it shares
 * @param {import("esbuild").BuildOptions} options
 * @returns {Promise<Record<string, import("./src/preload/own-packages/shared-package.js").SharedPackage>>}
 */
async function packagesIn(file, options) {
  const specifiers = [...readFileSync(path(file), "utf8").matchAll(/^import .* from "(.+)";$/gm)].map(
    ([, name]) => name,
  );
  const entries = specifiers.map(async (specifier) => {
    const contents = `export * from ${JSON.stringify(specifier)};`;
    const stdin = { contents, resolveDir: path(".") };
    const built = await build({ ...options, stdin, format: "esm", metafile: true, write: false });
    const [{ exports }] = Object.values(built.metafile.outputs);
    const { version, peerDependencies = {} } = manifestOf(Object.keys(built.metafile.inputs), specifier);
    return [specifier, { version, exports, peers: Object.keys(peerDependencies) }];
  });
  return Object.fromEntries(await Promise.all(entries));
}

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
 * Has the agent take the packages from the file in which the program finds them: each export once, when it is loaded. By the getters of what CommonJS exports, two for each use, a hot path would
 * spend more than on the work itself.
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
      bundling.onLoad({ filter: /./, namespace: "pure-packages" }, ({ path: specifier }) => ({
        contents: `export const { ${packages[specifier].exports.join(", ")} } = require("./pure-packages.cjs").purePackages[${JSON.stringify(specifier)}];`,
      }));
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundleAgent(path("dist"));
