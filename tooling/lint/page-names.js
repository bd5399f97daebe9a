import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Names of remat's packages that a page uses and that do not exist: names imported by its examples, and in a package's
 * README, functions and types in the first column of a table of names. The API reports in `etc` contain the existing
 * names, including members.
 *
 * @param {string} root of the workspace
 * @param {string} file of the page, relative to the root
 * @returns {readonly string[]} missing names, as "name of entry"
 */
export function missingNames(root, file) {
  const text = readFileSync(join(root, file), "utf8");
  const missing = [];
  for (const [, names, entry] of text.matchAll(/import (?:type )?\{([^}]*)\} from "((?:@remat\/|remat\b)[^"]*)"/g)) {
    const report = join(root, "etc", `${entry.replace("@remat/", "").replaceAll("/", "-")}.api.md`);
    const exported = existsSync(report) ? readFileSync(report, "utf8") : "";
    for (const name of names.split(",").map(
      (one) =>
        one
          .trim()
          .replace(/^type /, "")
          .split(" as ")[0],
    ))
      if (name !== "" && !new RegExp(`^export .*\\b${escape(name)}\\b`, "m").test(exported))
        missing.push(`${name} of ${entry}`);
  }
  const [, packageName] = /^packages\/([^/]+)\/README\.md$/.exec(file) ?? [];
  if (packageName === undefined) return missing;
  const reports = readdirSync(join(root, "etc"))
    .filter((name) => name === `${packageName}.api.md` || name.startsWith(`${packageName}-`))
    .map((name) => readFileSync(join(root, "etc", name), "utf8"))
    .join("\n");
  const tables = text.match(/^\| (?:name|PyTorch) \|(?:.*\n\|)+/gm)?.join("\n") ?? "";
  for (const [, cell] of tables.matchAll(/^\| (`[^|]*) \|/gm))
    for (const [, name] of cell.matchAll(/`([a-z]\w*[A-Z]\w*)(?:\([^`]*\))?`/g))
      if (!new RegExp(`\\b${escape(name)}\\b`).test(reports)) missing.push(`${name} of @remat/${packageName}`);
  return missing;
}

const escape = (name) => name.replaceAll("$", "\\$");
