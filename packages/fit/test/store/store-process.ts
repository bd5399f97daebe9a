// A search that ends by storing its result, as a process: the folder, a file with the result, a label for each time it stores, and how often.
import { readFileSync, writeSync } from "node:fs";
import type { FitSummary } from "../../src/index.js";
import { storeFit } from "../../src/node/index.js";

const [folder, summaryFile, label, times] = process.argv.slice(2);
const summary = JSON.parse(readFileSync(summaryFile, "utf8")) as FitSummary;
for (let i = 0; i < Number(times); i++) {
  storeFit(folder, summary, { at: "2030-01-01T00:00:00.000Z", label: `${label}-${i}` });
  // Told at once, since the process may be killed.
  writeSync(1, `${label}-${i}\n`);
}
