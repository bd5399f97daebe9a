#!/usr/bin/env node
// Type checks the package in the current folder: its sources with `noUncheckedIndexedAccess`, and its tests without it.
// The compiler reads the sources of other packages as well, with the options of this one, so it also finds unchecked
// indexed accesses there. Those are no errors: each package is checked with its own options.
import { spawnSync } from "node:child_process";

let hasFailed = false;
for (const project of ["tsconfig.json", "test/tsconfig.json"]) {
  const { error, status, stdout } = spawnSync("tsc", ["-p", project, "--pretty", "false"], { encoding: "utf8" });
  if (error !== undefined) throw error;
  // A diagnostic is a line and any indented lines below it.
  const found = stdout.split(/\n(?=\S)/).filter((text) => text.trim() !== "");
  const own = found.filter((text) => !text.startsWith("../"));
  for (const text of own) process.stdout.write(`${text.trimEnd()}\n`);
  if (status !== 0 && (own.length > 0 || found.length === 0)) hasFailed = true;
}
process.exitCode = hasFailed ? 1 : 0;
