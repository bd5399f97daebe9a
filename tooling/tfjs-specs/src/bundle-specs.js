import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/**
 * Bundles tfjs-core, a backend, remat's packages from their sources and the specs into one file, so that there is
 * exactly one engine.
 *
 * @param {{ backend: string, outFile: string, nativePackage: string | undefined, layers: string | undefined }} options
 * `backend`: a file in `bundle/`;
 *   `layers`: the folder of tfjs-layers' sources, to run its specs instead of tfjs-core's
 */
export async function bundleSpecs({ backend, outFile, nativePackage, layers }) {
  const isOfPage = backend === "webgl" || backend === "webgpu";
  const here = fileURLToPath(new URL("bundle/", import.meta.url));
  const checkpoint = fileURLToPath(new URL("../../../packages/checkpoint/src/", import.meta.url));
  const core = join(dirname(createRequire(import.meta.url).resolve("@tensorflow/tfjs-core/package.json")));
  await build({
    entryPoints: [join(here, "main.js")],
    outfile: outFile,
    bundle: true,
    platform: isOfPage ? "browser" : "node",
    format: "esm",
    // CommonJS code in it loads Node's modules with `require`.
    ...(!isOfPage && {
      banner: {
        js: 'import { createRequire as makeRequire } from "node:module"; const require = makeRequire(import.meta.url);',
      },
    }),
    target: isOfPage ? "es2022" : "node20",
    define: {
      "globalThis.rematSpecsOfLayers": String(layers !== undefined),
      // Jasmine, as CommonJS, uses this to detect its environment.
      ...(isOfPage && { global: "globalThis" }),
    },
    mainFields: ["module", "main"],
    conditions: ["@remat/source"],
    // tfjs-core declares that its files have no side effects, which is wrong for its specs.
    ignoreAnnotations: true,
    alias: {
      "@tensorflow/tfjs-core": core,
      "@tensorflow/tfjs": join(core, "dist/index.js"),
      ...(isOfPage && {
        "node:fs": join(here, "in-browser.js"),
        "node:async_hooks": join(here, "in-browser.js"),
        highs: join(here, "in-browser.js"),
      }),
      "specs:backend": join(here, `${backend}.js`),
      ...(layers !== undefined && { "@tensorflow/tfjs-layers": join(layers, "index.ts") }),
      // Internal, and needed for an artificial policy.
      "specs:executor": join(checkpoint, "executor/executor.ts"),
      ...(nativePackage !== undefined && { "specs:tfjs-node": nativePackage, util: join(here, "old-util.js") }),
    },
    plugins:
      layers === undefined ? [allSpecs(join(core, "dist"), "_test.js")] : [allSpecs(layers, "_test.ts"), forAnyCpu],
    // The sources of tfjs-layers rely on the semantics of an older TypeScript.
    ...(layers !== undefined && { tsconfigRaw: { compilerOptions: { useDefineForClassFields: false } } }),
    logLevel: "error",
  });
}

/**
 * tfjs-layers runs its specs for "a cpu" only on the backend with that name. The native one has a different name.
 *
 * @type {import("esbuild").Plugin}
 */
const forAnyCpu = {
  name: "for-any-cpu",
  setup({ onLoad }) {
    onLoad({ filter: /utils[\\/]test_utils\.ts$/ }, ({ path }) => {
      const asWritten = "testEnv.backendName === 'cpu'";
      const source = readFileSync(path, "utf8");
      if (!source.includes(asWritten))
        throw new Error(`expected ${asWritten} in ${path}: it tells which specs are for a cpu`);
      return { contents: source.replaceAll(asWritten, "testEnv.backendName !== 'webgl'"), loader: "ts" };
    });
  },
};

/**
 * `specs:all` is every spec in a folder.
 *
 * @param {string} folder
 * @param {string} ending of their files
 * @returns {import("esbuild").Plugin}
 */
function allSpecs(folder, ending) {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(ending));
  return {
    name: "all-specs",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^specs:all$/ }, ({ path }) => ({ path, namespace: "specs" }));
      onLoad({ filter: /^specs:all$/, namespace: "specs" }, () => ({
        contents: files
          .sort()
          .map((file) => `import ${JSON.stringify(`./${file}`)};`)
          .join("\n"),
        resolveDir: folder,
      }));
    },
  };
}
