#!/usr/bin/env node
// Prints how many tests passed, which tests could not run here, and how to run them. Called after all tests:
// summarize-tests.js TIER…
import { fileURLToPath } from "node:url";
import { countTests } from "./src/count-checks.js";
import { notRun } from "./src/not-run.js";
import { testReports } from "./src/test-reports.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const tiers = /** @type {("test" | "test-e2e")[]} */ (process.argv.slice(2));
const counts = tiers.flatMap((tier) => testReports(root, tier)).map((report) => countTests(report).passed);
console.log(`\n${counts.reduce((sum, passed) => sum + passed, 0).toLocaleString("en-US")} tests passed.`);
if (!tiers.includes("test-e2e")) console.log("Tests that start processes, browsers and terminals:  pnpm test:all");
else {
  const line = notRun(root, process.env);
  if (line !== undefined) console.log(line);
}
