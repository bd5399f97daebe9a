#!/usr/bin/env node
import { lackOfDescriptors } from "./lack-of-descriptors.js";

// Loaded here and not by an import of this file, whose failure nobody could explain.
try {
  await import("./start.js");
} catch (error) {
  const lack = lackOfDescriptors(error);
  if (lack === undefined) throw error;
  process.stderr.write(`remat: ${lack}\n`);
  process.exitCode = 1;
}
