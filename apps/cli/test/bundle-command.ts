import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const ours = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/**
 * Bundles the command `remat`, for tests of how its process ends. Packages that only some commands load stay outside, in chunks of their own.
 *
 * @param name of a folder below the package's `node_modules`, from where tfjs is found
 * @returns the script that Node runs, and the folder to remove afterwards
 */
export async function bundleCommand(name: string): Promise<{ readonly script: string; readonly folder: string }> {
  const folder = ours(`../node_modules/.remat-test/${name}-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  // The command reads its version from the package above its script.
  copyFileSync(ours("../package.json"), join(folder, "package.json"));
  await build({
    entryPoints: [ours("../src/main.ts")],
    outdir: join(folder, "bin"),
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    conditions: ["@remat/source"],
    external: [
      ...["@tensorflow/*", "@resvg/*", "bullmq", "highs", "hyparquet-writer", "ink", "ioredis", "react", "sql.js"],
    ],
    banner: {
      js: "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);",
    },
    logLevel: "error",
  });
  return { script: join(folder, "bin", "main.mjs"), folder };
}
