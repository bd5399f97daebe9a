// Plans graphs and training steps under memory budgets, and reports their cost next to the bounds.
// Usage: node tooling/bench/planner.js [FOLDER [BUDGET,…]]
// With a folder: its graph files and generated graphs. Without: training steps as well. --traces [NAME …]: only
// training steps. --link [FOLDER]: the gain of a link of 12 GB/s to host memory, for the folder's graphs and for
// training steps.
import { readFileSync } from "node:fs";
import { readGraphFile } from "@remat/planner/graph";
import { layeredGraph } from "./src/layered-graph.js";
import { movesPerSecond } from "./src/moves-per-second.js";
import { planFolder } from "./src/plan-folder.js";
import { planGraph } from "./src/plan-graph.js";
import { planOverLink } from "./src/plan-over-link.js";
import { planTraces } from "./src/plan-traces.js";
import { planningTable } from "./src/planning-table.js";
import { report } from "./src/report.js";

const bounds = JSON.parse(readFileSync(new URL("planner-bounds.json", import.meta.url), "utf8"));
const [folder, budgets] = process.argv.slice(2);
const table = planningTable();

if (folder === "--traces") process.exit((await planTraces(process.argv.slice(3))) > 0 ? 1 : 0);
if (folder === "--link") {
  console.log(await planOverLink({ folder: process.argv[3], linkGBps: 12, device: "t4", bounds }));
  process.exit(0);
}
if (folder !== undefined) await planFolder(folder, bounds, budgets?.split(",").map(Number), table.add);
await planLayers();
if (folder !== undefined) console.log(`\n${table.text()}\n`);
for (const nodes of [1000, 20_000]) report(await movesPerSecond(nodes));
const missedTraces = folder === undefined ? await planTraces() : 0;
if (table.missed() + missedTraces > 0) {
  console.error(`\nbench: ${table.missed() + missedTraces} bounds missed`);
  process.exitCode = 1;
}

async function planLayers() {
  for (const [nodes, edgesPerNode] of [
    [500, 4.7],
    [1000, 5.9],
  ])
    for (const [budget, overheadBound] of Object.entries(bounds.layered[nodes])) {
      const graph = readGraphFile(layeredGraph(nodes, edgesPerNode, 1));
      const found = await planGraph(graph, { budget: Number(budget), cpuS: 10 });
      table.add({ name: `layers-${nodes}`, nodes, order: "fixed", budget, found, overheadBound, cpuBound: 10 });
      if (folder !== undefined) continue;
      const what = `overhead, ${nodes} random layered nodes at ${budget} of the peak, 10 s`;
      const note = `gap ${(100 * found.gap).toFixed(2)}%`;
      report({ what, value: 100 * found.overhead, unit: "%", bound: 100 * overheadBound, note });
    }
}
