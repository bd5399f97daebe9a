#!/usr/bin/env node
// Compares every golden file of the folder named by REMAT_GOLDENS (or the project's own copies) with what the packages compute, from their
// sources: `pnpm goldens [NAME…]` prints a line for each file, or for those whose names contain one of the words, and exits with 1 if one
// differs.
import { fileURLToPath } from "node:url";
import { runnerImport } from "vite";

const conditions = ["@remat/source", "node", "import", "module", "default"];
const { module } = await runnerImport(fileURLToPath(new URL("src/index.ts", import.meta.url)), {
  configFile: false,
  logLevel: "error",
  resolve: { conditions, externalConditions: conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
});
const { goldensFolder, checkGoldens, comparisons } = module;
console.log(`goldens of ${goldensFolder}`);
let failed = 0;
let count = 0;
for (const { name, difference } of checkGoldens({ folder: goldensFolder, comparisons, words: process.argv.slice(2) })) {
  count++;
  if (difference !== undefined) failed++;
  console.log(`${difference === undefined ? "agrees " : "DIFFERS"}  ${name}${difference === undefined ? "" : `  ${difference}`}`);
}
console.log(`${count - failed} of ${count} agree`);
if (failed > 0 || count === 0) process.exitCode = 1;
