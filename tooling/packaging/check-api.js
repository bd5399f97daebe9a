#!/usr/bin/env node
// Compares the public API of every entry point with the report stored in etc/, so that no change goes unnoticed.
// `pnpm api` prints a line for each and exits with 1 if one differs. `pnpm api --update` stores the new ones.
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { checkApi, entryPoints, readDeclarations, reportsFolder } from "./src/api-report.js";
import { buildPackages } from "./src/build-packages.js";
import { publishedPackages } from "./src/workspace.js";

const update = process.argv.includes("--update");
await buildPackages();
await mkdir(reportsFolder, { recursive: true });
const expected = new Set();
const packages = publishedPackages();
const declarations = readDeclarations(packages);
let failed = 0;
for (const item of packages)
  for (const entry of entryPoints(item)) {
    expected.add(`${entry.name}.api.md`);
    const difference = await checkApi(item, entry, { update, declarations }).catch((error) => error.message);
    if (difference !== undefined) failed++;
    console.log(
      difference === undefined ? `ok      etc/${entry.name}.api.md` : `not ok  etc/${entry.name}.api.md: ${difference}`,
    );
  }
for (const file of await readdir(reportsFolder)) {
  if (expected.has(file)) continue;
  if (update) await rm(join(reportsFolder, file));
  else {
    failed++;
    console.log(`not ok  etc/${file}: no package has this entry point`);
  }
}
if (failed > 0) {
  console.log("If the change is meant, keep it with `pnpm api --update`, and add a changeset.");
  process.exitCode = 1;
}
