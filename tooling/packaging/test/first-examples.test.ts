import { existsSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import { firstExample, importedPackages, pageInstalls } from "../src/page-program.js";
import { publishedPackages, root } from "../src/workspace.js";

const published = publishedPackages();
const ours = new Set(published.map(({ name }) => name));
/** Packages that somebody imports; the apps are commands and parts of one. */
const libraries = published.filter(({ folder }) => relative(root, folder).startsWith("packages"));

/** Packages of ours other than `name` among those that a text imports or installs. */
const othersOf = (name: string, packages: readonly string[] = []) =>
  packages.filter((each) => each !== name && ours.has(each));

describe.each(libraries.map(({ name, folder }) => ({ name, folder })))("the README of $name", ({ name, folder }) => {
  const page = readFileSync(join(folder, "README.md"), "utf8");
  const example = firstExample(page) ?? "";
  const [install = ""] = page.match(/^npm install .+$/m) ?? [];

  it("begins with an example that imports the package and no other of ours", () => {
    expect(importedPackages(example)).toContain(name);
    expect(othersOf(name, importedPackages(example))).toEqual([]);
  });

  it("installs for it the package and no other of ours", () => {
    expect(page.indexOf(install)).toBeLessThan(page.indexOf(example));
    expect(pageInstalls(install)).toContain(name);
    expect(othersOf(name, pageInstalls(install))).toEqual([]);
  });
});

describe("packages that are imported", () => {
  it("are found, each with its README", () => {
    expect(libraries.length).toBeGreaterThan(10);
    for (const { folder } of libraries) expect(existsSync(join(folder, "README.md"))).toBe(true);
  });

  it("are told from others by what a first example imports", () => {
    const page =
      '```sh\nnpm install a\n```\n\n```js\nimport { b } from "@remat/trace";\n```\n\n```js\nimport "remat";\n```\n';
    expect(othersOf("@remat/memory", importedPackages(firstExample(page) ?? ""))).toEqual(["@remat/trace"]);
    expect(othersOf("@remat/trace", importedPackages(firstExample(page) ?? ""))).toEqual([]);
    expect(firstExample("```sh\nnpm install a\n```\n")).toBeUndefined();
  });
});
