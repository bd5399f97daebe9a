import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, posix } from "node:path";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { relativeLinks } from "./page-program.js";
import { runCommand } from "./run-command.js";
import { tarEntries } from "./tar-entries.js";

const require = createRequire(import.meta.url);
/** The field `browser` excludes a dependency from bundles for pages, which `exports` and `imports` cannot do. */
const leavesOutDependency = "USE_EXPORTS_OR_IMPORTS_BROWSER";
const attwManifest = require.resolve("@arethetypeswrong/cli/package.json");
const attw = join(dirname(attwManifest), require(attwManifest).bin.attw);

/**
 * Returns problems of a packed package before it is installed.
 *
 * @param {import("./workspace.js").Package} item
 * @param {string} tarball
 * @returns {Promise<readonly string[]>}
 */
export async function checkTarball(item, tarball) {
  const bytes = await readFile(tarball);
  const entries = tarEntries(bytes);
  const problems = [...contentProblems(item, entries)];
  const packed = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  const { messages, pkg } = await publint({ pack: { tarball: packed }, strict: true });
  for (const message of messages.filter(({ code }) => code !== leavesOutDependency))
    problems.push(`publint: ${formatMessage(message, pkg, { color: false })}`);
  // Files other than modules have no types: a page's shell.
  const pages = Object.keys(item.manifest.exports ?? {}).filter((path) => path.endsWith(".html"));
  const leavesOut = pages.length > 0 ? ["--exclude-entrypoints", ...pages.map((path) => path.slice(2))] : [];
  if (item.manifest.exports?.["."] !== undefined)
    try {
      const as = ["--profile", "esm-only", "--no-emoji", "--format", "ascii", ...leavesOut];
      await runCommand(process.execPath, [attw, tarball, ...as], { cwd: item.folder });
    } catch (error) {
      problems.push(`attw: ${error instanceof Error ? error.message : error}`);
    }
  return problems;
}

/**
 * @param {import("./workspace.js").Package} item
 * @param {readonly string[]} entries
 */
export function* contentProblems(item, entries) {
  for (const file of ["README.md", "LICENSE", "package.json"])
    if (!entries.includes(`package/${file}`)) yield `the tarball lacks ${file}`;
  if (item.manifest.sideEffects !== false && item.manifest.exports?.["."] !== undefined)
    yield 'package.json does not say "sideEffects": false';
  const hasReadme = entries.includes("package/README.md");
  const links = hasReadme ? relativeLinks(readFileSync(join(item.folder, "README.md"), "utf8")) : [];
  const linkedPages = links.filter((link) => /^[A-Z]+\.md$/.test(link)).map((link) => posix.join("package", link));
  for (const entry of entries) {
    if (linkedPages.includes(entry)) continue;
    if (/^package\/(?:dist\/|(?:README\.md|LICENSE|package\.json|CHANGELOG\.md)$)/.test(entry)) continue;
    yield `${entry} should not be in the tarball`;
  }
  for (const link of links)
    if (!entries.includes(posix.join("package", link))) yield `README.md links to ${link}, which is not in the tarball`;
  // Files that `bundle-package.js` writes for several entries, for bundlers or for threads are not meant to be
  // imported.
  for (const entry of entries)
    if (
      entry.endsWith(".js") &&
      !entry.startsWith("package/dist/modules/") &&
      !/\/(?:shared-[A-Z0-9]{8}|[a-z-]+-worker)\.js$/.test(entry) &&
      !entries.includes(entry.replace(/\.js$/, ".d.ts"))
    )
      yield `${entry} has no declarations`;
}
