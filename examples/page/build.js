#!/usr/bin/env node
// Builds static files of the page, which need only a file server and no network: node build.js [FOLDER, default dist]
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "vite";

const root = fileURLToPath(new URL(".", import.meta.url));

/**
 * The packages are bundled from their sources, in which the planning worker is not JavaScript yet.
 *
 * @type {import("vite").Plugin}
 */
const workerOfSources = {
  name: "worker-of-sources",
  enforce: "pre",
  transform(code, id) {
    return id.endsWith("planning-thread.ts")
      ? code.replaceAll("./planning/planning-worker.js", "./planning/planning-worker.ts")
      : undefined;
  },
};

/** @param {string} outDir */
export async function buildPage(outDir) {
  await build({
    configFile: false,
    root,
    base: "./",
    logLevel: "error",
    plugins: [workerOfSources],
    worker: { format: "es", plugins: () => [workerOfSources] },
    resolve: { conditions: ["@remat/source", "module", "browser", "development|production"] },
    build: {
      outDir,
      emptyOutDir: true,
      chunkSizeWarningLimit: 10_000,
    },
  });
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await buildPage(resolve(process.argv[2] ?? "dist"));
