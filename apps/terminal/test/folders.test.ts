import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const source = fileURLToPath(new URL("../src/", import.meta.url));
const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");

/** Folders of the README's table. */
const folders = readme
  .slice(readme.indexOf("| folder |"))
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .flatMap((line) => Array.from(line.split("|")[1].matchAll(/`(\w+)`/g), ([, name]) => name));
const paths = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ts"));

it("has the folders that its README lists", () => {
  const found = new Set(paths.filter((path) => path.includes("/")).map((path) => path.split("/")[0]));
  expect(folders.toSorted()).toEqual([...found].sort());
});

it("leaves the world to the shell: no other folder imports a Node module, Ink or React", () => {
  const pure = folders.filter((folder) => !["app", "files", "terminal"].includes(folder));
  const wrong = paths
    .filter((path) => pure.includes(path.split("/")[0]))
    .filter((path) => /"(node:[^"]*|ink|react)"/.test(readFileSync(`${source}${path}`, "utf8")));
  expect(wrong).toEqual([]);
});
