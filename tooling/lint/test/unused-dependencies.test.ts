import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const packages = ["packages", "apps"].flatMap((folder) =>
  readdirSync(join(root, folder)).map((name) => `${folder}/${name}`),
);

/** All text of the sources of a package: what it ships, its scripts, its page, its tests. */
function sourcesOf(path: string): string {
  return readdirSync(join(root, path), { withFileTypes: true })
    .filter(({ name }) => !["node_modules", "dist"].includes(name))
    .map((entry) => {
      const inside = `${path}/${entry.name}`;
      if (entry.isDirectory()) return sourcesOf(inside);
      return /\.(ts|tsx|js|mjs)$/.test(entry.name) ? readFileSync(join(root, inside), "utf8") : "";
    })
    .join("\n");
}

it.each(packages)("%s imports every package of others that it declares", (path) => {
  const { dependencies = {}, devDependencies = {} } = JSON.parse(
    readFileSync(join(root, path, "package.json"), "utf8"),
  ) as {
    dependencies?: Record<string, string>;
    devDependencies?: Record<string, string>;
  };
  const sources = sourcesOf(path);
  const unused = Object.keys({ ...dependencies, ...devDependencies }).filter(
    (name) => !["", "/"].some((end) => sources.includes(`"${name}${end === "" ? '"' : end}`)),
  );
  // Types belong to a package that is imported; packages of ours, and TensorFlow.js, may be there for one that imports them.
  expect(unused.filter((name) => !/^@(types|remat|tensorflow)\//.test(name))).toEqual([]);
});
