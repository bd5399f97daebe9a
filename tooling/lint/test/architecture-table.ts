import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./lint-fixtures.js";

/** The column "may import" of the table in ARCHITECTURE.md, by package. */
export function architectureTable(): Readonly<Record<string, string>> {
  const rows: Record<string, string> = {};
  for (const line of readFileSync(join(root, "ARCHITECTURE.md"), "utf8").split("\n")) {
    const match = /^\| `([\w-]+)` \|.*\| (.+) \|$/.exec(line);
    if (match !== null) rows[match[1]] = match[2];
  }
  return rows;
}

/** Packages that ARCHITECTURE.md says import no tfjs and no Node module. */
export function purePackages(): readonly string[] {
  const text = readFileSync(join(root, "ARCHITECTURE.md"), "utf8").replaceAll("\n", " ");
  const sentence = /([^.]*) import no tfjs and no Node module/.exec(text);
  if (sentence === null)
    throw new Error("ARCHITECTURE.md no longer says which packages import no tfjs and no Node module");
  return [...sentence[1].matchAll(/`([\w-]+)`/g)].map((match) => match[1]);
}
