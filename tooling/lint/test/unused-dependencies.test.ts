import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { workspaceFolders } from "../../testkit/workspace-folders.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const packages = workspaceFolders(root, ["packages", "apps"]);

/** All text of the sources of a package except those in folders of the given names. */
function sourcesOf(path: string, without: readonly string[] = []): string {
  return readdirSync(join(root, path), { withFileTypes: true })
    .filter(({ name }) => !["node_modules", "dist", ...without].includes(name))
    .map((entry) => {
      const inside = `${path}/${entry.name}`;
      if (entry.isDirectory()) return sourcesOf(inside, without);
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
  const unusedIn = (sources: string, declared: Readonly<Record<string, string>>) =>
    Object.keys(declared).filter((name) => !sources.includes(`"${name}"`) && !sources.includes(`"${name}/`));
  const unused = unusedIn(sourcesOf(path), { ...dependencies, ...devDependencies });
  // Types belong to an imported package. TensorFlow.js, and in tests our own packages, may be needed by a dependency that
  // imports them.
  expect(unused.filter((name) => !/^@(types|remat|tensorflow)\//.test(name))).toEqual([]);
  const unusedByUsers = unusedIn(sourcesOf(path, ["test"]), dependencies);
  expect(unusedByUsers.filter((name) => name.startsWith("@remat/"))).toEqual([]);
});
