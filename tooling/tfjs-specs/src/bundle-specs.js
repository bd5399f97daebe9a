import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/**
 * Bundles tfjs-core, a backend, our packages from their sources and the specs into one file, so that there is exactly one engine.
 *
 * @param {{ backend: string, outFile: string, nativePackage: string | undefined }} options `backend`: a file in `bundle/`
 */
export async function bundleSpecs({ backend, outFile, nativePackage }) {
  const here = fileURLToPath(new URL("bundle/", import.meta.url));
  const checkpoint = fileURLToPath(new URL("../../../packages/checkpoint/src/", import.meta.url));
  const core = join(dirname(createRequire(import.meta.url).resolve("@tensorflow/tfjs-core/package.json")));
  await build({
    entryPoints: [join(here, "main.js")],
    outfile: outFile,
    bundle: true,
    platform: "node",
    format: "esm",
    // What is CommonJS in it asks for Node's modules by `require`.
    banner: {
      js: 'import { createRequire as makeRequire } from "node:module"; const require = makeRequire(import.meta.url);',
    },
    target: "node20",
    mainFields: ["module", "main"],
    conditions: ["@remat/source"],
    // tfjs-core says that its files have no side effects, which is not so of its specs.
    ignoreAnnotations: true,
    alias: {
      "@tensorflow/tfjs-core": core,
      "@tensorflow/tfjs": join(core, "dist/index.js"),
      "specs:backend": join(here, `${backend}.js`),
      // Not public, and needed for a policy that nobody would want.
      "specs:executor": join(checkpoint, "executor/executor.ts"),
      ...(nativePackage !== undefined && { "specs:tfjs-node": nativePackage, util: join(here, "old-util.js") }),
    },
    plugins: [allSpecs(join(core, "dist"))],
    logLevel: "error",
  });
}

/**
 * `specs:all` is every spec that tfjs-core ships.
 *
 * @param {string} dist
 * @returns {import("esbuild").Plugin}
 */
function allSpecs(dist) {
  const files = readdirSync(dist, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith("_test.js"));
  return {
    name: "all-specs",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^specs:all$/ }, ({ path }) => ({ path, namespace: "specs" }));
      onLoad({ filter: /^specs:all$/, namespace: "specs" }, () => ({
        contents: files
          .sort()
          .map((file) => `import ${JSON.stringify(`./${file}`)};`)
          .join("\n"),
        resolveDir: dist,
      }));
    },
  };
}
