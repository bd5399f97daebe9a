#!/usr/bin/env node
// Builds and packs every package, checks each tarball, and installs them by npm and by pnpm into empty folders outside
// the workspace. There it runs the examples of their READMEs, the main README and the pages in docs, as strict
// TypeScript. `pnpm packages [NAME…]` prints a line for each and exits with 1 if one fails.
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { loadSources } from "@remat/testkit/load-sources";
import { buildPackages } from "./src/build-packages.js";
import { checkTarball } from "./src/check-tarball.js";
import { allPages } from "./src/pages.js";
import { runCommand } from "./src/run-command.js";
import { tryPages } from "./src/try-pages.js";
import { catalogVersions, publishedPackages, root } from "./src/workspace.js";

const words = process.argv.slice(2);
const packages = publishedPackages();
const pages = allPages();
const chosen = words.length === 0 ? pages : pages.filter(({ name }) => words.includes(name));
if (chosen.length === 0)
  throw new Error(`nothing is called ${words.join(" or ")}: there are ${pages.map(({ name }) => name).join(", ")}`);

const folder = await mkdtemp(join(tmpdir(), "remat-packages-"));
let failed = 0;
try {
  await buildPackages();
  /** @type {Map<string, string>} */
  const tarballs = new Map();
  for (const item of packages) {
    const into = join(folder, "tarballs", item.shortName);
    await runCommand("pnpm", ["pack", "--pack-destination", into], { cwd: item.folder });
    tarballs.set(item.name, join(into, (await readdir(into))[0]));
  }
  /** @type {Map<string, readonly string[]>} */
  const wrong = new Map();
  for (const { name, item } of chosen)
    if (item !== undefined) wrong.set(name, await checkTarball(item, /** @type {string} */ (tarballs.get(item.name))));
  const { module: testkit, close } = await loadSources(fileURLToPath(import.meta.resolve("@remat/testkit")));
  const stock = { packages, tarballs, versions: catalogVersions(), browserPath: testkit["findBrowser"]() };
  await close();
  await tryPages(chosen, stock, join(folder, "installed"), ({ name, title }, tried, seconds) => {
    const problems = [...(wrong.get(name) ?? []), ...tried];
    if (problems.length > 0) failed++;
    console.log(`${problems.length === 0 ? "ok     " : "not ok "} ${title} (${seconds.toFixed(1)} s)`);
    for (const problem of problems) console.log(`        ${problem.replaceAll("\n", "\n        ")}`);
  });
} finally {
  await rm(folder, { recursive: true, force: true });
}
if (JSON.parse(await readFile(join(root, "package.json"), "utf8")).repository === undefined)
  console.log("package.json names no repository, so packages name none; before they are published it must");
console.log(`${chosen.length - failed} of ${chosen.length} packages and pages are right, on Node ${process.version}`);
if (failed > 0) process.exitCode = 1;
