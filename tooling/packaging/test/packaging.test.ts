import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { checkTarball } from "../src/check-tarball.js";
import { readmeExample } from "../src/readme-example.js";
import { runCommand } from "../src/run-command.js";
import { tarEntries } from "../src/tar-entries.js";
import { tryPackage } from "../src/try-package.js";
import { publishedPackages, withDependencies } from "../src/workspace.js";

const folder = mkdtempSync(join(tmpdir(), "remat-packaging-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const good = {
  "package.json": JSON.stringify({
    name: "good",
    version: "1.0.0",
    license: "MIT",
    type: "module",
    sideEffects: false,
    files: ["dist"],
    exports: { ".": { types: "./dist/index.d.ts", default: "./dist/index.js" } },
  }),
  LICENSE: "MIT\n",
  "README.md": '# good\n\n```js\nimport { one } from "good";\nif (one !== 1) throw new Error("not one");\n```\n',
  "dist/index.js": 'export { one } from "./shared-3ZKYUZR6.js";\n',
  "dist/shared-3ZKYUZR6.js": "export const one = 1;\n",
  "dist/index.d.ts": "export declare const one: 1;\n",
};

async function pack(name: string, files: Record<string, string>) {
  const packageFolder = join(folder, name, "package");
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(packageFolder, path)), { recursive: true });
    writeFileSync(join(packageFolder, path), text);
  }
  const into = join(folder, name, "tarball");
  mkdirSync(into);
  await runCommand("npm", ["pack", "--ignore-scripts", "--pack-destination", into], { cwd: packageFolder });
  const manifest = JSON.parse(files["package.json"]) as Record<string, unknown>;
  const item = { name: "good", shortName: name, folder: packageFolder, manifest };
  const tarball = join(into, readdirSync(into)[0]);
  const installed = join(folder, name, "installed");
  return { item, tarball, options: { packages: [item], tarballs: new Map([["good", tarball]]), folder: installed } };
}

const change = (path: keyof typeof good, from: string | RegExp, to: string): Record<string, string> => ({
  ...good,
  [path]: good[path].replace(from, to),
});

describe("a packed package", () => {
  it("that is right passes", async () => {
    const { item, tarball, options } = await pack("right", good);
    expect(tarEntries(readFileSync(tarball)).toSorted()).toEqual(
      Object.keys(good)
        .map((path) => `package/${path}`)
        .toSorted(),
    );
    expect(await checkTarball(item, tarball)).toEqual([]);
    expect(await tryPackage(item, options)).toEqual([]);
  });

  it.each<[string, Record<string, string>, RegExp]>([
    ["no licence", Object.fromEntries(Object.entries(good).filter(([path]) => path !== "LICENSE")), /lacks LICENSE/],
    ["side effects", change("package.json", '"sideEffects":false,', ""), /"sideEffects": false/],
    [
      "files that nobody needs",
      change("package.json", '["dist"]', '["dist","src"]'),
      /package\/src\/a.ts should not be/,
    ],
    ["types that are not there", change("package.json", "index.d.ts", "main.d.ts"), /publint: .*main\.d\.ts/],
    ["types that do not resolve", change("dist/index.d.ts", /.*/, 'export { one } from "./one";'), /attw: /],
    ["a file without types", { ...good, "dist/other.js": "export {};\n" }, /other\.js has no declarations/],
  ])("with %s is refused", async (name, files, problem) => {
    const { item, tarball } = await pack(name.replaceAll(" ", "-"), { ...files, "src/a.ts": "export {};\n" });
    expect((await checkTarball(item, tarball)).join("\n")).toMatch(problem);
  });

  it.each<[string, Record<string, string>, RegExp]>([
    ["a README example that fails", change("README.md", "!== 1", "!== 2"), /README example: .*Error: not one/s],
    ["no README example", change("README.md", "```js", "```sh"), /README\.md has no ```js example/],
    [
      "an import that it does not declare",
      change("dist/index.js", /^/, 'import "left-pad";\n'),
      /Cannot find package 'left-pad'/,
    ],
    ["a global that it sets", change("dist/index.js", /^/, "globalThis.remat = 1;\n"), /changes globalThis\.remat/],
    [
      "a built-in that it patches",
      change("dist/index.js", /^/, "Array.prototype.last = 1;\n"),
      /changes Array\.prototype\.last/,
    ],
  ])("with %s fails when it is tried", async (name, files, problem) => {
    const { item, options } = await pack(name.replaceAll(" ", "-"), files);
    expect((await tryPackage(item, options)).join("\n")).toMatch(problem);
  });
});

describe("the workspace", () => {
  it("publishes its packages dependencies first, and nothing private", () => {
    const packages = publishedPackages();
    const names = packages.map(({ name }) => name);
    expect(names).toContain("@remat/trace");
    expect(names).not.toContain("@remat/testkit");
    for (const [i, { manifest }] of packages.entries())
      for (const dependency of Object.keys((manifest["dependencies"] as object | undefined) ?? {}))
        if (dependency.startsWith("@remat/")) expect(names.slice(0, i)).toContain(dependency);
  });

  it("knows what comes with a package", () => {
    const packages = publishedPackages();
    const core = packages.find(({ shortName }) => shortName === "sac-core");
    if (core === undefined) throw new Error("there is no sac-core");
    expect(
      withDependencies(core, packages)
        .map(({ shortName }) => shortName)
        .toSorted(),
    ).toEqual(["memory", "sac-core", "text-table", "trace"]);
  });
});

describe("readmeExample", () => {
  it("is the first JavaScript block", () => {
    expect(readmeExample("```sh\nnpm i\n```\n\n```js\na();\n```\n```js\nb();\n```\n")).toBe("a();\n");
    expect(readmeExample("```json\n{}\n```\n")).toBeUndefined();
  });
});
