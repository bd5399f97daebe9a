/**
 * @typedef {object} WebPage
 * @property {string} html
 * @property {string} main
 */

/**
 * Returns the program on a page: all its blocks of JavaScript and TypeScript, one after the other, as a reader would
 * type them. Undefined if it has none.
 *
 * @param {string} page Markdown
 * @returns {string | undefined}
 */
export function pageProgram(page) {
  const blocks = programBlocks(page);
  return blocks.length === 0 ? undefined : blocks.join("\n");
}

/**
 * Returns the first block of JavaScript or TypeScript on a page. Undefined if it has none.
 *
 * @param {string} page Markdown
 * @returns {string | undefined}
 */
export function firstExample(page) {
  return programBlocks(page)[0];
}

/**
 * @param {string} page Markdown
 * @returns {readonly string[]}
 */
function programBlocks(page) {
  return [...page.matchAll(/^```[jt]s\r?\n([^]*?)^```/gm)].map(([, block]) => block);
}

/**
 * Returns the web page that a page shows: its HTML, and the module `main.js` that it loads. Undefined if it shows none.
 *
 * @param {string} page Markdown
 * @returns {WebPage | undefined}
 */
export function webPage(page) {
  const block = (/** @type {string} */ language) =>
    new RegExp(`^\`\`\`${language}\\r?\\n([^]*?)^\`\`\``, "m").exec(page)?.[1];
  const [html, main] = [block("html"), block("javascript")];
  return html === undefined || main === undefined ? undefined : { html, main };
}

/**
 * Returns the packages that a page installs with `npm install`. Undefined if it installs none.
 *
 * @param {string} page Markdown
 * @returns {readonly string[] | undefined}
 */
export function pageInstalls(page) {
  const lines = [...page.matchAll(/^npm install (.+)$/gm)].map(([, words]) => words.trim().split(/\s+/));
  return lines.length === 0 ? undefined : [...new Set(lines.flat())].filter((word) => !word.startsWith("-"));
}

/**
 * Returns the packages that a program imports.
 *
 * @param {string} program
 * @returns {readonly string[]}
 */
export function importedPackages(program) {
  const specifiers = [...program.matchAll(/(?:from|import)\s*\(?\s*"([^".][^"]*)"/g)].map(([, specifier]) => specifier);
  const packages = specifiers
    .filter((specifier) => !specifier.startsWith("node:"))
    .map((specifier) => specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/"));
  return [...new Set(packages)];
}

/**
 * Returns the files that a page links to by relative paths.
 *
 * @param {string} page Markdown
 * @returns {readonly string[]}
 */
export function relativeLinks(page) {
  return [...page.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)]
    .map(([, target]) => target)
    .filter((target) => !/^[a-z]+:/.test(target));
}
