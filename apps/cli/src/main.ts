#!/usr/bin/env node
import { lackOfDescriptors } from "./lack-of-descriptors.js";

const [only, ...others] = process.argv.slice(2);
// Imported dynamically, so that a failure to load can be explained, and the version is printed without the commands.
try {
  if ((only === "--version" || only === "-v") && others.length === 0) {
    const { versionText } = await import("./version.js");
    process.stdout.write(`${versionText()}\n`);
  } else {
    const { tuneV8 } = await import("./tune-v8.js");
    tuneV8();
    await import("./start.js");
  }
} catch (error) {
  const lack = lackOfDescriptors(error);
  if (lack === undefined) throw error;
  process.stderr.write(`remat: ${lack}\n`);
  process.exitCode = 1;
}
