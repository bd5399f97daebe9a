import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { readModule } from "../testkit/read-module.js";
import { entrySources } from "../testkit/workspace-folders.js";

/** These files pass every export of remat's packages to programs that use remat themselves. */
const handOver = /^packages\/program\/src\/agent\/(?:pure|engine)-packages\.ts$/;

/**
 * Exports of package entries that nothing uses: no source of another package, app, tool or example imports them, and no
 * page (README, docs, Markdown of examples) names them. A type counts as used if its own file mentions it again or
 * another source file imports it, since used functions accept or return it.
 *
 * @param {string} root of the workspace
 * @returns {readonly { entry: string, name: string }[]}
 */
export function unusedExports(root) {
  const files = execFileSync("git", ["ls-files", "packages", "apps", "tooling", "examples", "docs", "*.md"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 1 << 26,
  })
    .split("\n")
    .filter((file) => existsSync(join(root, file)));
  const entries = entrySources(root);
  const modules = new Map(
    files
      .filter(
        (file) => /\.(?:[cm]?ts|tsx|[cm]?js)$/.test(file) && !file.includes("/goldens/") && !file.endsWith(".d.ts"),
      )
      .map((file) => [file, readModule(readFileSync(join(root, file), "utf8"), file)]),
  );
  const resolve = (from, specifier) => {
    if (!specifier.startsWith(".")) return entries.get(specifier);
    const path = posix.join(posix.dirname(from), specifier);
    return [path, path.replace(/\.js$/, ".ts"), path.replace(/\.js$/, ".tsx")].find((one) => modules.has(one));
  };
  /** For each file and name, the files that import it. */
  const users = new Map();
  const use = (file, name, user, seen = new Set()) => {
    const key = `${file} ${name}`;
    if (seen.has(key)) return;
    seen.add(key);
    if (!users.has(key)) users.set(key, new Set());
    users.get(key).add(user);
    const from = modules.get(file)?.exports.get(name);
    if (from?.source !== undefined) {
      const target = resolve(file, from.source);
      if (target !== undefined) use(target, from.name, user, seen);
    }
  };
  for (const [file, { imports }] of modules) {
    if (handOver.test(file)) continue;
    for (const { source, names, isReexport } of imports) {
      // A re-exported name is used if another file imports it from there.
      if (isReexport) continue;
      const target = resolve(file, source);
      if (target === undefined) continue;
      const wanted = names === "all" ? modules.get(target).exports.keys() : names;
      for (const name of wanted) use(target, name, file);
    }
  }
  const pages = files
    .filter((file) => file.endsWith(".md") && !/^etc\/|CHANGELOG/.test(file))
    .map((file) => readFileSync(join(root, file), "utf8"))
    .join("\n");
  const named = new Set(pages.match(/[A-Za-z_$][\w$]*/g));
  const unused = [];
  for (const [entry, index] of entries) {
    const folder = posix.dirname(index).split("/").slice(0, 2).join("/");
    for (const [name, { isType, source, name: original }] of modules.get(index).exports) {
      if (named.has(name)) continue;
      const isOutside = [...(users.get(`${index} ${name}`) ?? [])].some((user) => !user.startsWith(`${folder}/`));
      const target = source === undefined ? undefined : resolve(index, source);
      const isNeeded =
        isType &&
        target !== undefined &&
        (mentions(root, target, original) > 1 ||
          [...(users.get(`${target} ${original}`) ?? [])].some((user) => user !== index && !user.includes("/test/")));
      if (!isOutside && !isNeeded) unused.push({ entry, name });
    }
  }
  return unused;
}

const mentions = (root, file, name) =>
  readFileSync(join(root, file), "utf8").match(new RegExp(`\\b${name}\\b`, "g"))?.length ?? 0;
