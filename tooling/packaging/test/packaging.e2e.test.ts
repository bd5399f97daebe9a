import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { findBrowser } from "@remat/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkTarball } from "../src/check-tarball.js";
import { importedPackages, pageInstalls, pageProgram, webPage } from "../src/page-program.js";
import { pageOf } from "../src/pages.js";
import { runCommand } from "../src/run-command.js";
import { tarEntries } from "../src/tar-entries.js";
import { tryInBrowser } from "../src/try-in-browser.js";
import { tryPages } from "../src/try-pages.js";
import { catalogVersions, publishedPackages, root } from "../src/workspace.js";

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
  "README.md":
    '# good\n\n```sh\nnpm install good\n```\n\n```js\nimport { one } from "good";\n```\n\n```ts\nif (one !== 1) throw new Error("not one");\n```\n',
  "dist/index.js": 'export { one } from "./shared-3ZKYUZR6.js";\n',
  "dist/shared-3ZKYUZR6.js": "export const one = 1;\n",
  "dist/planning/planning-worker.js": "export {};\n",
  "dist/index.d.ts": "export declare const one: number;\n",
};

/** Packs files as the package `name`, which they call "good". */
async function pack(name: string, files: Record<string, string>) {
  const packageFolder = join(folder, name, "package");
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(packageFolder, path)), { recursive: true });
    writeFileSync(
      join(packageFolder, path),
      text.replaceAll(/"good"|(?<=install )good/g, (found) => found.replace("good", name)),
    );
  }
  const into = join(folder, name, "tarball");
  mkdirSync(into);
  await runCommand("npm", ["pack", "--ignore-scripts", "--pack-destination", into], { cwd: packageFolder });
  const manifest = JSON.parse(readFileSync(join(packageFolder, "package.json"), "utf8")) as Record<string, unknown>;
  const item = { name, shortName: name, folder: packageFolder, manifest };
  return { item, tarball: join(into, readdirSync(into)[0]) };
}

const change = (path: keyof typeof good, from: string | RegExp, to: string): Record<string, string> => ({
  ...good,
  [path]: good[path].replace(from, to),
});

describe("a packed package", () => {
  it("that is right passes", async () => {
    const { item, tarball } = await pack("right", good);
    expect(tarEntries(readFileSync(tarball)).toSorted()).toEqual(
      Object.keys(good)
        .map((path) => `package/${path}`)
        .toSorted(),
    );
    expect(await checkTarball(item, tarball)).toEqual([]);
  });

  it("may have a page besides, to which its README leads", async () => {
    const page = {
      ...change("README.md", "# good", "# good, of [many](NAMES.md)"),
      "package.json": good["package.json"].replace('["dist"]', '["dist","NAMES.md"]'),
      "NAMES.md": "# Names\n",
    };
    const { item, tarball } = await pack("page", page);
    expect(await checkTarball(item, tarball)).toEqual([]);
    const unread = await pack("unread-page", { ...page, "README.md": good["README.md"] });
    expect(await checkTarball(unread.item, unread.tarball)).toEqual(["package/NAMES.md should not be in the tarball"]);
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
    [
      "a link that leads out of it",
      change("README.md", "# good", "# good, of [all](../all#names) and [its licence](LICENSE)"),
      /^README\.md links to \.\.\/all, which is not in the tarball$/m,
    ],
  ])("with %s is refused", async (name, files, problem) => {
    const { item, tarball } = await pack(name.replaceAll(" ", "-"), { ...files, "src/a.ts": "export {};\n" });
    expect((await checkTarball(item, tarball)).join("\n")).toMatch(problem);
  });
});

describe("packages installed by npm and by pnpm", () => {
  /** For each package: its difference from a correct one, and the resulting problems; none for a correct one. */
  const variants: Readonly<Record<string, readonly [Record<string, string>, ...(readonly RegExp[])]>> = {
    good: [good],
    "failing-program": [
      change("README.md", "!== 1", "!== 2"),
      /its program, by npm: .*Error: not one/s,
      /its program, by pnpm: .*Error: not one/s,
    ],
    "no-program": [change("README.md", /```[jt]s/g, "```sh"), /README\.md has no ```js example/],
    "loose-types": [
      change("README.md", "if (one", "const same = (x) => x;\nif (same(one)"),
      /as TypeScript, by npm: .*implicitly has an 'any' type/s,
      /as TypeScript, by pnpm: .*implicitly has an 'any' type/s,
    ],
    "undeclared-in-readme": [
      change("README.md", 'import { one } from "good";', 'import { one } from "good";\nimport "failing-import";'),
      /its program, by pnpm: .*Cannot find package 'failing-import'/s,
    ],
    "failing-import": [
      change("dist/index.js", /^/, 'import "left-pad";\n'),
      /import, by pnpm: .*Cannot find package 'left-pad'/s,
    ],
    "sets-a-global": [change("dist/index.js", /^/, "globalThis.remat = 1;\n"), /changes globalThis\.remat/],
    "patches-a-built-in": [
      change("dist/index.js", /^/, "Array.prototype.last = 1;\n"),
      /changes Array\.prototype\.last/,
    ],
  };
  let found: ReadonlyMap<string, readonly string[]>;

  beforeAll(async () => {
    const packed = [];
    for (const [name, [files]] of Object.entries(variants)) packed.push(await pack(name, files));
    const packages = packed.map(({ item }) => item);
    const tarballs = new Map(packed.map(({ item, tarball }) => [item.name, tarball]));
    const stock = { packages, tarballs, versions: catalogVersions() };
    found = await tryPages(packages.map(pageOf), stock, join(folder, "installed"));
  });

  it.each(Object.keys(variants))("%s is told apart", (name) => {
    const [, ...problems] = variants[name];
    const told = found.get(name)?.join("\n");
    if (problems.length === 0) expect(told).toBe("");
    for (const problem of problems) expect(told).toMatch(problem);
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
});

describe("repository fields of packages", () => {
  it("stands once, in the root's package.json, and is in what pnpm packs", async () => {
    const workspace = join(folder, "workspace");
    const source = join("tooling", "packaging", "src");
    mkdirSync(join(workspace, source), { recursive: true });
    mkdirSync(join(workspace, "packages", "one"), { recursive: true });
    for (const file of [".pnpmfile.mjs", join(source, "repository-fields.js")])
      copyFileSync(join(root, file), join(workspace, file));
    const write = (file: string, text: string) => writeFileSync(join(workspace, file), text);
    write("pnpm-workspace.yaml", 'packages: ["packages/*"]\n');
    write("packages/one/package.json", '{ "name": "one", "version": "1.0.0" }');
    const pack = async (rootManifest: object): Promise<object> => {
      write("package.json", JSON.stringify({ private: true, type: "module", ...rootManifest }));
      const cwd = join(workspace, "packages", "one");
      await runCommand("pnpm", ["pack"], { cwd });
      return JSON.parse(await runCommand("tar", ["xzOf", "one-1.0.0.tgz", "package/package.json"], { cwd })) as object;
    };
    expect(await pack({})).toEqual({ name: "one", version: "1.0.0" });
    const repository = "https://git.example/remat.git";
    expect(await pack({ repository, bugs: "https://git.example/bugs" })).toEqual({
      name: "one",
      version: "1.0.0",
      repository: { type: "git", url: repository, directory: "packages/one" },
      bugs: "https://git.example/bugs",
    });
  });
});

describe("a page of the web", () => {
  const html = '<!doctype html><meta charset="utf-8" /><p>…</p><script type="module" src="/main.js"></script>\n';
  const modules = join(import.meta.dirname, "..", "node_modules");
  const browserPath = findBrowser();
  const tried = (name: string, main: string) =>
    tryInBrowser({ html, main }, join(folder, "web", name), modules, browserPath);

  it("is its HTML and its module", () => {
    expect(webPage("```html\n<p>\n```\n\n```javascript\na();\n```\n")).toEqual({ html: "<p>\n", main: "a();\n" });
    expect(webPage("```html\n<p>\n```\n\n```js\na();\n```\n")).toBeUndefined();
  });

  it("is right if its module comes to its end by each bundler", async () => {
    const says = (text: string) => `document.querySelector("p").textContent = ${JSON.stringify(text)};`;
    expect(await tried("right", says("loss 1, 2 B instead of 3 B"))).toEqual([]);
    expect(await tried("larger", says("loss 1, 4 B instead of 3 B"))).toEqual(
      ["vite", "esbuild", "webpack"].map((name) => `by ${name}: it says "loss 1, 4 B instead of 3 B"`),
    );
  });

  it("is not if it asks for what is not there", async () => {
    const problems = await tried("node", 'import { readFileSync } from "node:fs"; readFileSync("a");');
    const bundlers = problems.map((problem) => problem.split(":")[0]);
    expect([...new Set(bundlers)]).toEqual(["by vite", "by esbuild", "by webpack"]);
    expect(problems.join("\n")).toMatch(/^by esbuild: .*Could not resolve "node:fs"/ms);
    const worker = await tried("worker", 'new Worker("/absent.js"); document.querySelector("p").textContent = "x";');
    expect(worker).toContain("by esbuild: there is no /absent.js");
  });
});

describe("a page", () => {
  it("is a program of all its blocks of JavaScript and TypeScript", () => {
    expect(pageProgram("```sh\nnpm i\n```\n\n```js\na();\n```\n```ts\nb();\n```\n")).toBe("a();\n\nb();\n");
    expect(pageProgram("```json\n{}\n```\n")).toBeUndefined();
  });

  it("names packages where it installs and imports them", () => {
    expect(pageInstalls("```sh\nnpm install -g a @b/c\n```\n")).toEqual(["a", "@b/c"]);
    expect(pageInstalls("```sh\nnpm install a b\n```\n\n```sh\nnpm install b d\n```\n")).toEqual(["a", "b", "d"]);
    expect(
      importedPackages('import a from "a";\nimport { b } from "@b/c/d";\nimport "./e.js";\nawait import("node:fs");\n'),
    ).toEqual(["a", "@b/c"]);
  });
});

describe("releases", () => {
  const published = publishedPackages();

  it("have changesets that name published packages, each once", () => {
    for (const file of readdirSync(join(root, ".changeset")).filter((name) => name.endsWith(".md"))) {
      const [, head = ""] = readFileSync(join(root, ".changeset", file), "utf8").split("---\n");
      const names = [...head.matchAll(/^"([^"]+)": (?:major|minor|patch)$/gm)].map(([, name]) => name);
      expect(names, file).toHaveLength(head.trim().split("\n").length);
      expect(new Set(names).size, file).toBe(names.length);
      expect(
        published.map(({ name }) => name),
        file,
      ).toEqual(expect.arrayContaining(names));
    }
  });

  it("give all packages one version", () => {
    expect(new Set(published.map(({ manifest }) => manifest["version"])).size).toBe(1);
  });

  it.each(published.map(({ name, folder, manifest }) => ({ name, folder, version: manifest["version"] as string })))(
    "$name has a changelog whose newest entry is its version",
    ({ name, folder, version }) => {
      const lines = readFileSync(join(folder, "CHANGELOG.md"), "utf8").split("\n");
      expect(lines[0]).toBe(`# ${name}`);
      expect(lines.find((line) => line.startsWith("## "))).toBe(`## ${version}`);
    },
  );
});
