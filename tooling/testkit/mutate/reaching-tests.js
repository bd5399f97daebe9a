import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { readModule } from "../read-module.js";

/**
 * Returns the unit tests of a package by their distance from each of its sources, in imports.
 *
 * @param {string} folder of the package
 * @returns {(source: string) => readonly string[]} the tests that reach a source, the nearest first, preceded by one
 * with its name; paths are absolute
 */
export function testsByDistance(folder) {
  const read = (name) =>
    existsSync(join(folder, name))
      ? readdirSync(join(folder, name), { recursive: true, encoding: "utf8" }).map((file) => join(folder, name, file))
      : [];
  const files = [...read("src"), ...read("test")].filter((file) => /\.tsx?$/.test(file) && !file.endsWith(".d.ts"));
  const { name, exports = {} } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const known = new Set(files);
  /** @type {Map<string, string[]>} */
  const importers = new Map(files.map((file) => [file, []]));
  for (const file of files)
    for (const { source, isType } of readModule(readFileSync(file, "utf8"), file).imports) {
      const target = isType ? undefined : resolveWithin(source, file, { folder, name, exports }, known);
      if (target !== undefined) importers.get(target).push(file);
    }
  return (source) => {
    const reached = new Set([source]);
    for (const file of reached) for (const importer of importers.get(file) ?? []) reached.add(importer);
    const tests = [...reached].filter((file) => file.endsWith(".test.ts") && !/\.(?:e2e|night)\.test\.ts$/.test(file));
    // A test named after the source comes first, even if it imports it through the package's entry.
    const isNamesake = (file) => basename(file).startsWith(`${basename(source).replace(/\.tsx?$/, "")}.`);
    return [...tests.filter(isNamesake), ...tests.filter((file) => !isNamesake(file))];
  };
}

function resolveWithin(specifier, file, { folder, name, exports }, known) {
  if (specifier === name || specifier.startsWith(`${name}/`)) {
    const entry = exports[`.${specifier.slice(name.length)}`];
    const path = typeof entry === "string" ? entry : entry?.["@remat/source"];
    return path === undefined ? undefined : resolve(folder, path);
  }
  if (!specifier.startsWith(".")) return undefined;
  const path = resolve(dirname(file), specifier);
  return [path, path.replace(/\.js$/, ".ts"), path.replace(/\.jsx?$/, ".tsx")].find((each) => known.has(each));
}
