import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { installed, readmeExample } from "./readme-example.js";
import { runCommand } from "./run-command.js";
import { catalogVersions, importedEntries, withDependencies } from "./workspace.js";

const importEffects = fileURLToPath(new URL("import-effects.js", import.meta.url));

/**
 * Installs a packed package into an empty folder, as a stranger would, and tries it there: README example, import of each entry point,
 * commands.
 *
 * @param {import("./workspace.js").Package} item
 * @param {{ packages: readonly import("./workspace.js").Package[], tarballs: ReadonlyMap<string, string>, folder: string }} options
 * @returns {Promise<readonly string[]>} what is wrong
 */
export async function tryPackage(item, { packages, tarballs, folder }) {
  const readme = await readFile(join(item.folder, "README.md"), "utf8").catch(() => "");
  const example = readmeExample(readme);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  // Dependencies within the workspace come from their tarballs: none of them need be published yet.
  const typed = installed(readme);
  const wanted = new Set(
    [item, ...packages.filter(({ name }) => typed.includes(name))].flatMap((each) => withDependencies(each, packages)),
  );
  const own = [...wanted].map(({ name }) => /** @type {string} */ (tarballs.get(name)));
  // npm sees to peers that are not optional.
  const { peerDependencies = {}, peerDependenciesMeta = {} } = item.manifest;
  const optional = Object.keys(peerDependencies).filter(
    (name) => peerDependenciesMeta[name]?.optional && example?.includes(`"${name}"`),
  );
  const others = typed.filter((name) => !name.startsWith("-") && !packages.some((each) => each.name === name));
  const versions = catalogVersions();
  const elsewhere = [...new Set([...optional, ...others])].map((name) => `${name}@${versions[name] ?? "latest"}`);
  const flags = ["--no-audit", "--no-fund", "--no-save", "--prefer-offline", "--loglevel=error"];
  await runCommand("npm", ["install", ...flags, ...own, ...elsewhere], { cwd: folder });

  const problems = [];
  const attempt = async (/** @type {string} */ what, /** @type {readonly string[]} */ args) => {
    try {
      await runCommand(process.execPath, args, { cwd: folder, timeoutMs: 120_000 });
    } catch (error) {
      problems.push(`${what}: ${error instanceof Error ? error.message : error}`);
    }
  };
  if (example !== undefined) {
    await writeFile(join(folder, "example.js"), example);
    await attempt("README example", ["example.js"]);
  } else if (item.manifest.bin === undefined) problems.push("README.md has no ```js example");

  await cp(importEffects, join(folder, "import-effects.js"));
  const needsOptionalPeer = Object.values(peerDependenciesMeta).some((meta) => meta.optional);
  for (const { entry } of importedEntries(item)) {
    if (needsOptionalPeer && entry !== ".") continue;
    await attempt("import", ["import-effects.js", `${item.name}${entry.slice(1)}`]);
  }
  for (const command of Object.keys(item.manifest.bin ?? {}))
    await attempt(`${command} --help`, [join("node_modules", ".bin", command), "--help"]);
  return problems;
}
