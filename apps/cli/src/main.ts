#!/usr/bin/env node
import { lackOfDescriptors } from "./lack-of-descriptors.js";

// Imported dynamically, so that a failure to load can be explained.
try {
  await import("./start.js");
} catch (error) {
  const lack = lackOfDescriptors(error);
  if (lack === undefined) throw error;
  process.stderr.write(`remat: ${lack}\n`);
  process.exitCode = 1;
}
