#!/usr/bin/env node
// Compares every golden file of the folder named by REMAT_GOLDENS (or the project's own copies) with what the packages compute, from their
// sources: `pnpm goldens [NAME…]` prints a line for each file, or for those whose names contain one of the words, and exits with 1 if one
// differs.
import { fileURLToPath } from "node:url";
import { createServer } from "vite";

const conditions = ["@remat/source", "node", "import", "module", "default"];
const vite = await createServer({
  configFile: false,
  logLevel: "error",
  appType: "custom",
  server: { middlewareMode: true, ws: false, watch: null },
  // Packages are read from their sources, whatever may be built.
  ssr: { noExternal: [/^@remat\//], resolve: { conditions } },
});
const module = await vite.ssrLoadModule(fileURLToPath(new URL("src/index.ts", import.meta.url)));
const { goldensFolder, checkGoldens, comparisons } = module;
console.log(`goldens of ${goldensFolder}`);
let failed = 0;
let count = 0;
for await (const { name, difference } of checkGoldens({ folder: goldensFolder, comparisons, words: process.argv.slice(2) })) {
  count++;
  if (difference !== undefined) failed++;
  console.log(`${difference === undefined ? "agrees " : "DIFFERS"}  ${name}${difference === undefined ? "" : `  ${difference}`}`);
}
console.log(`${count - failed} of ${count} agree`);
if (failed > 0 || count === 0) process.exitCode = 1;
await vite.close();
