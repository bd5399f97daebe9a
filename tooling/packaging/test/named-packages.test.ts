import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { workspaceFolders } from "../../testkit/workspace-folders.js";
import { root } from "../src/workspace.js";

/** Everything that can be imported by the name of a package of the workspace, private ones included. */
function importableNames(): ReadonlySet<string> {
  const names = new Set<string>(["@remat/source"]); // a condition of exports
  for (const folder of [...workspaceFolders(root), "examples"]) {
    const { name, exports = {} } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as {
      name: string;
      exports?: object;
    };
    names.add(name);
    if (typeof exports === "object") for (const entry of Object.keys(exports)) names.add(join(name, entry));
  }
  return names;
}

/** Packages and entry points of ours that a text names. */
function namedIn(text: string): readonly string[] {
  return [...text.matchAll(/(?<![\w/.])@remat\/[a-z][a-z-]*(?:\/[a-z][a-z-]*(?:\.html|\.json)?)*/g)].map(
    ([name]) => name,
  );
}

describe("pages and sources", () => {
  const names = importableNames();
  const files = execFileSync("git", ["ls-files", "*.md", "packages/*/src/*.ts", "apps/*/src/*.ts"], { cwd: root })
    .toString()
    .trimEnd()
    .split("\n")
    .filter((file) => !file.startsWith(".changeset/") && existsSync(join(root, file)));

  it("name only packages and entry points of ours that are there", () => {
    expect(files.length).toBeGreaterThan(100);
    const wrong = files.flatMap((file) =>
      namedIn(readFileSync(join(root, file), "utf8"))
        .filter((name) => !names.has(name))
        .map((name) => `${file}: ${name}`),
    );
    expect(wrong).toEqual([]);
  });

  it("are read for names as a reader would", () => {
    expect(namedIn("`@remat/trace/files`, @remat/memory. (@remat/no-such)")).toEqual([
      "@remat/trace/files",
      "@remat/memory",
      "@remat/no-such",
    ]);
    expect(names.has("@remat/trace/files")).toBe(true);
    expect(names.has("@remat/no-such")).toBe(false);
  });
});
