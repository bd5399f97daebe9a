#!/usr/bin/env node
// Compares every golden file of the folder named by REMAT_GOLDENS (or the project's own copies) with the results of the
// packages, run from their sources. `pnpm goldens [NAME…]` prints a line for each file, or for those whose names
// contain one of the words: it agrees, remat's result is better (in what, and by how much), or it differs. Exits with 1
// if one differs.
import { fileURLToPath } from "node:url";
import { loadSources } from "@remat/testkit/load-sources";

const { module, close } = await loadSources(fileURLToPath(new URL("src/index.ts", import.meta.url)));
const { goldensFolder, checkGoldens, comparisons, advantages } = module;
console.log(`goldens of ${goldensFolder}`);
const words = process.argv.slice(2);
const printed = { agrees: "agrees ", better: "better ", differs: "DIFFERS" };
const count = { agrees: 0, better: 0, differs: 0 };
for await (const { name, outcome, difference, advantage } of checkGoldens({ folder: goldensFolder, comparisons, advantages, words })) {
  count[outcome]++;
  const why = difference ?? advantage;
  console.log(`${printed[outcome]}  ${name}${why === undefined ? "" : `  ${why}`}`);
}
const { agrees, better, differs: failed } = count;
console.log(`${agrees} agree, ${better} better, ${failed} differ`);
if (failed > 0 || agrees + better === 0) process.exitCode = 1;
await close();
