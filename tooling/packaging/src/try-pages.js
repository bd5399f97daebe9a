import { cp } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { compilePages, installByNpm, installByPnpm } from "./layouts.js";
import { runCommand } from "./run-command.js";
import { tryInBrowser } from "./try-in-browser.js";
import { importedEntries, root } from "./workspace.js";

const importEffects = fileURLToPath(new URL("import-effects.js", import.meta.url));
const tsc = join(root, "node_modules", "typescript", "bin", "tsc");

/**
 * Installs packed packages as users do, by npm and by pnpm, and tests the statements of pages there. It compiles each
 * program as strict TypeScript and runs it, imports each entry point, and runs the commands. Each layout is installed
 * once, for all pages.
 *
 * @param {readonly import("./pages.js").Page[]} pages
 * @param {import("./layouts.js").Stock} stock
 * @param {string} folder
 * @param {(page: import("./pages.js").Page, problems: readonly string[], seconds: number) => void} [tell] called as
 * soon as a page has been tested
 * @returns {Promise<ReadonlyMap<string, readonly string[]>>} problems, by name of the page
 */
export async function tryPages(pages, stock, folder, tell = () => {}) {
  const layouts = await Promise.all([
    installByNpm(pages, stock, join(folder, "npm")),
    installByPnpm(pages, stock, join(folder, "pnpm")),
  ]);
  const compiled = await Promise.all(
    layouts.map(async (layout) => ({ layout, wrong: await compilePages(pages, layout, tsc) })),
  );
  const found = new Map();
  // The slowest first: bundling a page with each bundler, and opening it.
  const queue = pages.toSorted((a, b) => Number(b.web !== undefined) - Number(a.web !== undefined));
  const work = async () => {
    for (let page = queue.shift(); page !== undefined; page = queue.shift()) {
      const start = performance.now();
      /** @type {string[]} */
      const problems = [];
      for (const { layout, wrong } of compiled) {
        const types = wrong.get(page.name) ?? wrong.get("");
        if (types !== undefined) problems.push(`as TypeScript, by ${layout.name}: ${types.join("\n")}`);
        problems.push(...(await tryPage(page, layout)));
      }
      const [{ folder: installed, folderOf }] = layouts;
      if (page.web !== undefined)
        problems.push(
          ...(await tryInBrowser(page.web, folderOf(page), join(installed, "node_modules"), stock.browserPath)),
        );
      found.set(page.name, problems);
      tell(page, problems, (performance.now() - start) / 1000);
    }
  };
  await Promise.all([work(), work()]);
  return found;
}

/**
 * @param {import("./pages.js").Page} page
 * @param {import("./layouts.js").Installed} layout
 */
async function tryPage(page, layout) {
  const { program, item } = page;
  const cwd = layout.folderOf(page);
  /** @type {string[]} */
  const problems = [];
  const attempt = async (/** @type {string} */ what, /** @type {readonly string[]} */ args) => {
    try {
      await runCommand(process.execPath, args, { cwd, timeoutMs: 240_000 });
    } catch (error) {
      problems.push(`${what}, by ${layout.name}: ${error instanceof Error ? error.message : error}`);
    }
  };
  if (program !== undefined) await attempt("its program", ["program.js"]);
  else if (item?.manifest.exports?.["."] !== undefined) problems.push("README.md has no ```js example");
  // Side effects and missing dependencies show only in pnpm's layout, in which undeclared packages cannot be imported.
  if (item === undefined || layout.name !== "pnpm") return problems;
  await cp(importEffects, join(cwd, "import-effects.js"));
  for (const { entry } of importedEntries(item))
    await attempt("import", ["import-effects.js", `${item.name}${entry.slice(1)}`]);
  for (const [command, file] of Object.entries(item.manifest.bin ?? {}))
    await attempt(`${command} --help`, [join("node_modules", item.name, file), "--help"]);
  return problems;
}
