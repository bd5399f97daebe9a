#!/usr/bin/env node
// Bundles what is loaded into a program: `preload.cjs`, which every Node process of it begins with, and `agent.cjs`, which is loaded once TensorFlow.js
// is. CommonJS, since the program's copy of tfjs-core is (in Node every 4.x is), and one file each, so that the program waits for nothing.
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const path = (/** @type {string} */ file) => fileURLToPath(new URL(file, import.meta.url));

/**
 * @param {string} folder where the two files go
 * @param {readonly string[]} [conditions] `@remat/source` to bundle from sources
 */
export async function bundleAgent(folder, conditions = []) {
  await build({
    entryPoints: [
      { in: path("src/preload/preload.ts"), out: "preload" },
      { in: path("src/agent/agent.ts"), out: "agent" },
    ],
    outdir: folder,
    outExtension: { ".js": ".cjs" },
    bundle: true,
    format: "cjs",
    platform: "node",
    target: "node20.19",
    conditions: [...conditions],
    // The program's own copy of tfjs; the solver reads a file that lies beside it.
    external: ["@tensorflow/*", "highs"],
    logLevel: "error",
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundleAgent(path("dist"));
