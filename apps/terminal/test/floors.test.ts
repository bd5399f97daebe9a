import { readdirSync, readFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const source = fileURLToPath(new URL("../src/", import.meta.url));
const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");

/** Folders from the top of the README's table down; those of one row beside each other. */
const floors = readme
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .map((line) => Array.from(line.split("|")[1].matchAll(/`(\w+)`/g), ([, name]) => name));
const floorOf = new Map(floors.flatMap((folders, floor) => folders.map((folder) => [folder, floor] as const)));

/** What each file imports, types included, by path from the sources. */
const imports = new Map(
  readdirSync(source, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => {
      const text = readFileSync(`${source}${path}`, "utf8");
      return [path, Array.from(text.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g), ([, name]) => name)] as const;
    }),
);
const ownImports = (path: string): readonly string[] =>
  (imports.get(path) ?? [])
    .filter((name) => name.startsWith("."))
    .map((name) => relative(source, resolve(source, dirname(path), name)).replace(/\.js$/, ".ts"));
const folderOf = (path: string): string | undefined => (path.includes("/") ? path.split("/")[0] : undefined);

describe("the folders of the app", () => {
  it("are those of the README's table", () => {
    const found = new Set([...imports.keys()].flatMap((path) => folderOf(path) ?? []));
    expect([...floorOf.keys()].sort()).toEqual([...found].sort());
  });

  it("are floors: a file imports from its own and from those above it in the table", () => {
    const wrong = [...imports.keys()].flatMap((path) => {
      const folder = folderOf(path);
      if (folder === undefined) return [];
      return ownImports(path)
        .filter((other) => folderOf(other) !== folder)
        .filter((other) => !(floorOf.get(folderOf(other) ?? "")! < floorOf.get(folder)!))
        .map((other) => `${path} imports ${other}`);
    });
    expect(wrong).toEqual([]);
  });

  it("have no circle of files in them, types included", () => {
    const done = new Set<string>();
    const circleFrom = (path: string, way: readonly string[]): readonly string[] | undefined => {
      if (way.includes(path)) return [...way.slice(way.indexOf(path)), path];
      if (done.has(path)) return undefined;
      for (const other of ownImports(path)) {
        const circle = circleFrom(other, [...way, path]);
        if (circle !== undefined) return circle;
      }
      done.add(path);
      return undefined;
    };
    for (const path of imports.keys()) expect(circleFrom(path, [])).toBeUndefined();
  });

  it("leave the world to the shell: nothing else imports a Node module, Ink or React", () => {
    const shell = ["app", "files", "terminal", undefined];
    const wrong = [...imports]
      .filter(([path]) => !shell.includes(folderOf(path)))
      .flatMap(([path, names]) =>
        names.filter((name) => /^(node:|ink$|react$)/.test(name)).map((name) => `${path}: ${name}`),
      );
    expect(wrong).toEqual([]);
  });
});
