import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readGraphFile } from "@remat/planner/graph";
import { planGraph } from "./plan-graph.js";

const cpuS = { fixed: 2, free: 5 };
const anyBudgets = [0.9, 0.8, 0.7, 0.6, 0.5];
/** The working set as a share of the peak, used as a budget that can just be met. */
const lowest = "lowest";

/**
 * Plans every graph of a folder at several budgets and in both orders, and reports each figure next to its known bound.
 */
export async function planFolder(folder, bounds, budgets, tell) {
  const files = readdirSync(folder).filter((file) => file.endsWith(".json"));
  if (files.length === 0)
    throw new Error(`${folder} has no .json files: expected graphs of schema rematerialization-graph/1`);
  for (const file of files.sort()) {
    const json = JSON.parse(readFileSync(join(folder, file), "utf8"));
    const graph = readGraphFile(json);
    const name = json.name ?? file.slice(0, -".json".length);
    for (const order of ["fixed", "free"])
      for (const budget of budgetsFor(bounds, name, order, budgets)) {
        const share = budget === lowest ? roundedUp(bounds.lowestBudget[name]) : budget;
        const found = await planGraph(graph, { budget: share, order, cpuS: cpuS[order] });
        tell({
          name,
          nodes: graph.nodeCount,
          order,
          budget: share,
          found,
          overheadBound: budget === lowest ? undefined : bounds.overhead[name]?.[order]?.[budget],
          gapBound: order === "fixed" && share < 1 ? gapBound(bounds, name, budget) : undefined,
          cpuBound: cpuS[order],
          isLowest: budget === lowest,
        });
      }
  }
}

/** The requested budgets, or those with bounds, or for an unknown graph a default list. */
function budgetsFor(bounds, name, order, budgets) {
  if (budgets !== undefined) return budgets;
  const known = Object.keys(bounds.overhead[name]?.[order] ?? {}).map(Number);
  const more = order === "fixed" && bounds.lowestBudget[name] !== undefined ? [lowest] : [];
  const isKnown = known.length + more.length > 0 || bounds.lowestBudget[name] !== undefined;
  return isKnown ? [...known.sort((a, b) => b - a), ...more] : anyBudgets;
}

const gapBound = (bounds, name, budget) => (budget === lowest ? undefined : bounds.gap[name]);

/** Bounds are given to four digits. */
const roundedUp = (share) => share + 5e-5;
