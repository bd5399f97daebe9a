import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "vite";
import { describe, expect, it } from "vitest";
import { root } from "./lint-fixtures.js";

/** An import of one of our packages by name, in code that we print or show. Users of `remat` alone do not have these. */
const ownImport = /(?:\bfrom|\bimport|\bimport\(|\brequire\()\s*["'](@remat\/[\w-]+)/g;

const tracked = (...patterns: readonly string[]): readonly string[] =>
  execFileSync("git", ["ls-files", ...patterns], { cwd: root, encoding: "utf8", maxBuffer: 1 << 26 })
    .split("\n")
    .filter((path) => existsSync(join(root, path)) && path !== "");

const read = (path: string): string => readFileSync(join(root, path), "utf8");

/** The imports of a source, which begin it. */
const head = /^(?:(?:import\b[^;]*;|\/\*[\s\S]*?\*\/|\/\/.*)\s*)*/;

/** The texts of a source: its string literals, and the parts of its templates. */
function textsIn(node: unknown): readonly string[] {
  if (typeof node !== "object" || node === null) return [];
  const { type, value } = node as { readonly type?: string; readonly value?: unknown };
  if (type === "Literal" && typeof value === "string") return [value];
  if (type === "TemplateElement") return [(value as { readonly raw: string }).raw];
  return Object.values(node).flatMap(textsIn);
}

describe("imports in printed code", () => {
  it("are of remat, which users install", () => {
    const sources = tracked("packages/*/src/*.ts", "apps/*/src/*.ts", "apps/*/page/*.ts");
    expect(sources.length).toBeGreaterThan(1000);
    const printing = sources.filter((path) => read(path).replace(head, "").search(ownImport) >= 0);
    const found = printing.flatMap((path) =>
      textsIn(parseSync(path, read(path)).program)
        .flatMap((text) => [...text.matchAll(ownImport)])
        .map(([, name]) => `${path}: ${name}`),
    );
    expect(found).toEqual([]);
  });

  it("are of packages that the page says how to install, in the pages of docs", () => {
    const found = tracked("docs/*.md", "README.md").flatMap((path) => {
      const page = read(path);
      const isInstalled = (name: string): boolean =>
        new RegExp(`\\binstall \`?(?:[\\w@/-]+ )*${name}\\b`, "i").test(page);
      const names = new Set(Array.from(page.matchAll(ownImport), ([, name]) => name as string));
      return Array.from(names).flatMap((name) => (isInstalled(name) ? [] : [`${path}: ${name}`]));
    });
    expect(found).toEqual([]);
  });
});
