import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * Puts a table between the marks `<!-- MARK -->` and `<!-- /MARK -->` of a page. The first mark may contain a name
 * after `MARK`.
 *
 * @param {string} page from the root of the repository
 * @param {string} mark of the measurement
 * @param {string} text
 * @param {string} [name] of the table
 */
export function putTable(page, mark, text, name) {
  const path = fileURLToPath(new URL(`../../../${page}`, import.meta.url));
  const begin = name === undefined ? mark : `${mark} ${name}`;
  const marked = new RegExp(`(<!-- ${begin} -->\n\n)[\\s\\S]*?(\n\n<!-- /${mark} -->)`);
  const before = readFileSync(path, "utf8");
  if (!marked.test(before)) throw new Error(`expected a table between the marks '${begin}' and '/${mark}' in ${page}`);
  writeFileSync(
    path,
    before.replace(marked, (_, start, end) => `${start}${text}${end}`),
  );
}
