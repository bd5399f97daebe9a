// Bundles the modules of the command into dist/main.js, and into chunks that commands load when they need them, because
// Node takes about a third of a millisecond per module. Worker threads and other processes start from the modules that
// tsc writes to dist. Runs as the last part of `build`.
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const folder = dirname(fileURLToPath(import.meta.url));
const [src, dist] = [join(folder, "src"), join(folder, "dist")];

/**
 * Makes a bundled module find files as if it ran from its own file in dist. Every bundle is directly in dist.
 *
 * @type {import("esbuild").Plugin}
 */
const findFilesBesideModule = {
  name: "find files beside the module",
  setup(bundling) {
    bundling.onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const compiled = relative(src, path).replaceAll(sep, "/").replace(/\.ts$/, ".js");
      const contents = readFileSync(path, "utf8");
      for (const [, file] of contents.matchAll(/new URL\("([^"]+)", import\.meta\.url\)/g))
        if (!existsSync(join(dist, dirname(compiled), file)))
          throw new Error(`${path} needs ${file} beside it in dist`);
      const url = `new URL(${JSON.stringify(`./${compiled}`)}, import.meta.url).href`;
      return { contents: contents.replaceAll("import.meta.url", url), loader: "ts" };
    });
  },
};

for (const file of readdirSync(dist)) if (/^shared-\w+\.js$/.test(file)) rmSync(join(dist, file));
await build({
  entryPoints: [join(src, "main.ts")],
  outdir: dist,
  chunkNames: "shared-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "neutral",
  target: "node20.19",
  packages: "external",
  external: ["node:*"],
  plugins: [findFilesBesideModule],
  logLevel: "error",
});
