#!/usr/bin/env node
// Bundles what is loaded into a program: `preload.cjs`, which every Node process of it begins with, and `agent.cjs`, which is loaded once TensorFlow.js
// is; and `watcher.cjs`, which ends the program where its runner was killed. CommonJS, since the program's copy of tfjs-core is (in Node every 4.x is), and one file each, so that the program waits for nothing. Beside them what
// `checkpoint` plans with, in a thread of its own.
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
  await build({
    ...options,
    entryPoints: [
      { in: path("src/preload/preload.ts"), out: "preload" },
      { in: path("src/agent/agent.ts"), out: "agent" },
      { in: path("src/watcher/watcher.ts"), out: "watcher" },
    ],
    outdir: folder,
    outExtension: { ".js": ".cjs" },
    format: "cjs",
    // Of what is beside a file of ours.
    define: { "import.meta.url": "fileUrl" },
    banner: { js: 'const fileUrl = require("node:url").pathToFileURL(__filename).href;' },
  });
  await build({
    ...options,
    entryPoints: [{ in: path("../checkpoint/src/planning/planning-worker.ts"), out: "planning/planning-worker" }],
    outdir: folder,
    // Whatever the folder says of its files.
    format: "iife",
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundleAgent(path("dist"));
