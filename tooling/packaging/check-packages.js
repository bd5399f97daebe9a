#!/usr/bin/env node
// Builds and packs every package, checks each tarball, installs it by npm into an empty folder outside the workspace, and runs its README
// example there. `pnpm packages [NAME…]` prints a line for each package and exits with 1 if one is not right.
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildPackages } from "./src/build-packages.js";
import { checkTarball } from "./src/check-tarball.js";
import { runCommand } from "./src/run-command.js";
import { tryPackage } from "./src/try-package.js";
import { publishedPackages } from "./src/workspace.js";

const words = process.argv.slice(2);
const packages = publishedPackages();
const chosen = words.length === 0 ? packages : packages.filter(({ shortName }) => words.includes(shortName));
if (chosen.length === 0)
  throw new Error(
    `no package is called ${words.join(" or ")}: there are ${packages.map((p) => p.shortName).join(", ")}`,
  );

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
  const queue = chosen.slice();
  const work = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
      const start = performance.now();
      const tarball = /** @type {string} */ (tarballs.get(item.name));
      const problems = await Promise.all([
        checkTarball(item, tarball),
        tryPackage(item, { packages, tarballs, folder: join(folder, "installed", item.shortName) }),
      ]).then(
        (found) => found.flat(),
        (error) => [error instanceof Error ? error.message : String(error)],
      );
      if (problems.length > 0) failed++;
      const seconds = ((performance.now() - start) / 1000).toFixed(1);
      console.log(`${problems.length === 0 ? "ok     " : "not ok "} ${item.name} (${seconds} s)`);
      for (const problem of problems) console.log(`        ${problem.replaceAll("\n", "\n        ")}`);
    }
  };
  await Promise.all([work(), work()]);
} finally {
  await rm(folder, { recursive: true, force: true });
}
console.log(`${chosen.length - failed} of ${chosen.length} packages are right, on Node ${process.version}`);
if (failed > 0) process.exitCode = 1;
