import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { importedPackages, pageInstalls, pageProgram, webPage } from "./page-program.js";
import { publishedPackages, root } from "./workspace.js";

/**
 * A page with a program, or a package without one that has entry points and commands to test.
 *
 * @typedef {object} Page
 * @property {string} name `trace`, `docs-how-to-browser`: also the name of the test folder
 * @property {string} title display name
 * @property {string | undefined} program
 * @property {import("./page-program.js").WebPage | undefined} web the part that runs in a browser
 * @property {readonly string[]} installs packages that a reader has then
 * @property {import("./workspace.js").Package | undefined} item the package of a README
 */

/**
 * @param {import("./workspace.js").Package} item
 * @returns {Page}
 */
export function pageOf(item) {
  const text = readFileSync(join(item.folder, "README.md"), "utf8");
  const installs = new Set([item.name, ...(pageInstalls(text) ?? [])]);
  return {
    name: item.shortName,
    title: item.name,
    program: pageProgram(text),
    web: undefined,
    installs: [...installs],
    item,
  };
}

/**
 * All pages that can be tested: READMEs of packages, the main README, the pages in `docs` and its folders. For pages
 * without install instructions, their imports are installed.
 *
 * @returns {readonly Page[]}
 */
export function allPages() {
  const docs = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" });
  const files = ["README.md", ...docs.map((file) => `docs/${file}`)];
  const others = files
    .filter((file) => file.endsWith(".md"))
    .flatMap((file) => {
      const text = readFileSync(join(root, file), "utf8");
      const [program, web] = [pageProgram(text), webPage(text)];
      if (program === undefined && web === undefined) return [];
      const name = file.replace(/\.md$/, "").replaceAll("/", "-").toLowerCase();
      const installs = pageInstalls(text) ?? importedPackages(`${program ?? ""}${web?.main ?? ""}`);
      return [{ name, title: file, program, web, installs, item: undefined }];
    });
  return [...publishedPackages().map(pageOf), ...others];
}
