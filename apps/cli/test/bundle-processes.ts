import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin } from "esbuild";
import { bundleForNode } from "./bundle-for-node.js";

const programs = ["run/planning", "run/executor", "run/stock", "doctor/probe"];
const source = (program: string): string => fileURLToPath(new URL(`../src/${program}-process.ts`, import.meta.url));
/** The solver reads a file beside it, so it stays where the planner has it. */
const solverOutside: Plugin = {
  name: "solver-outside",
  setup(bundler) {
    const planner = createRequire(new URL("../../../packages/planner/package.json", import.meta.url));
    bundler.onResolve({ filter: /^highs$/ }, () => ({ path: planner.resolve("highs"), external: true }));
  },
};

/**
 * Bundles the programs of `remat run` and `remat doctor` as files that Node can start, in a new folder inside the
 * package, so that tfjs is found from there. tfjs is not bundled, so that there is one engine, shared with the user's
 * model. `metafile.json` lists the content of each.
 *
 * @returns the folder
 */
export async function bundleProcesses(): Promise<string> {
  const folder = fileURLToPath(new URL(`../node_modules/.remat-test/${process.pid}`, import.meta.url));
  mkdirSync(folder, { recursive: true });
  const { metafile } = await bundleForNode({
    entryPoints: programs.map((program) => ({ in: source(program), out: `${basename(program)}-process` })),
    outdir: folder,
    plugins: [solverOutside],
  });
  writeFileSync(join(folder, "metafile.json"), JSON.stringify(metafile));
  return folder;
}
