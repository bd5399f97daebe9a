import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { workspaceFolders } from "../../testkit/workspace-folders.js";
import { outerPathsOfTests } from "../test-inputs.js";
import { root } from "./lint-fixtures.js";

const folders = [...workspaceFolders(root), "examples"].filter((folder) => existsSync(join(root, folder, "test")));

interface Manifest {
  readonly name: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly scripts?: Readonly<Record<string, string>>;
}
const manifestOf = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as Manifest;
const folderOf = new Map(
  workspaceFolders(root, ["packages", "apps"]).map((folder) => [manifestOf(folder).name, folder] as const),
);

/** Folders whose sources are inputs of a package's tests, since it depends on them. */
function dependenciesOf(folder: string, known = new Set<string>()): Set<string> {
  const { dependencies, devDependencies } = manifestOf(folder);
  for (const name of Object.keys({ ...dependencies, ...(known.size === 0 && devDependencies) })) {
    const other = folderOf.get(name);
    if (other === undefined || known.has(other)) continue;
    known.add(other);
    dependenciesOf(other, known);
  }
  return known;
}

/** The inputs that a folder's turbo.json adds to those of every package, from the root of the workspace. */
function ownInputs(folder: string, task: string): readonly string[] {
  const file = join(root, folder, "turbo.json");
  if (!existsSync(file)) return [];
  const { tasks } = JSON.parse(readFileSync(file, "utf8")) as {
    tasks: Record<string, { inputs?: readonly string[] } | undefined>;
  };
  return (tasks[task]?.inputs ?? []).map((input) => input.replace("$TURBO_ROOT$/", ""));
}

/** Returns whether files at or below a path are inputs, by a pattern's text before its first wildcard. */
const covers = (path: string) => (input: string) => {
  const [start] = input.split(/[*{]/);
  return input === path || (start !== input && `${path}/`.startsWith(start)) || start.startsWith(`${path}/`);
};

test.each(folders)("%s: turbo runs its tests again when any file changes that they read", (folder) => {
  const isDependency = dependenciesOf(folder);
  const { scripts = {} } = manifestOf(folder);
  const tasks = ["test", "test:e2e"].filter((task) => task in scripts);
  const missing = outerPathsOfTests(root, folder)
    .filter((path) => !path.includes("node_modules") && !["packages", "apps"].includes(path))
    .filter((path) => !path.startsWith("tooling/testkit"))
    .filter((path) => {
      const [, owner, place] = /^((?:packages|apps)\/[^/]+)(?:\/(\w+|package\.json))?/.exec(path) ?? [];
      return !(owner !== undefined && isDependency.has(owner) && place !== "test");
    })
    .filter((path) => !tasks.every((task) => ownInputs(folder, task).some(covers(path))));
  expect(missing, `add them to the inputs of ${folder}/turbo.json`).toEqual([]);
});
