import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { holdPlan } from "@remat/memory/sequence";
import { planCheckpointing, rematerialize } from "@remat/planner";
import { planningGraphOfTrace, readGraphFile, withLink } from "@remat/planner/graph";
import { formatTable } from "@remat/trace/text";
import { planGraph } from "./plan-graph.js";
import { wholeSteps } from "./whole-steps.js";

const budgets = [0.9, 0.7, 0.5];
const cpuS = 4;
const iterations = 2_000_000;

/**
 * Compares plans with recomputation only and plans with a link to host memory, with the same effort: graphs of a folder
 * whose duration is in `bounds.stepMs`, and training steps with times estimated for `device`. Returns a table of the
 * link's gain as text.
 */
export async function planOverLink({ folder, linkGBps, device, bounds }) {
  const rows = [];
  const add = (name, budget, alone, linked) => {
    rows.push([
      name,
      String(budget),
      alone === undefined ? "none found" : percent(alone.overhead),
      linked === undefined ? "none found" : percent(linked.overhead),
      linked === undefined
        ? ""
        : `${linked.offloads} × ${(linked.movedBytes / 1e6 / Math.max(1, linked.offloads)).toFixed(0)} MB`,
      linked === undefined ? "" : percent(linked.lowest),
    ]);
    console.error(`  ${rows.at(-1).join("  ")}`);
  };
  if (folder !== undefined)
    for (const { name, graph, stepMs } of graphsOf(folder, bounds)) {
      const bytesPerCost = (linkGBps * 1e6 * stepMs) / sum(graph.cost);
      const linked = withLink(graph, bytesPerCost);
      for (const budget of budgets) {
        const alone = await planGraph(graph, { budget, cpuS });
        const found = await planGraph(linked, { budget, cpuS });
        add(name, budget, alone.isFeasible ? alone : undefined, found.isFeasible ? movedBy(linked, found) : undefined);
      }
    }
  for (const [name, trace] of Object.entries(wholeSteps)) {
    const step = await trace(device);
    const { plain } = await rematerialize(planningGraphOfTrace(step), {
      budgetBytes: Number.MAX_VALUE,
      iterations: 0,
      boundTimeMs: 0,
    });
    for (const share of budgets) {
      const asked = { budgetBytes: share * plain.peakBytes, iterations, boundTimeMs: 4000 };
      const alone = await planCheckpointing(step, asked);
      const linked = await planCheckpointing(step, { ...asked, linkBytesPerSecond: linkGBps * 1e9 });
      add(name, share, alone.point, linked.point && movedByPlan(step, linked.point));
    }
  }
  return formatTable(rows, {
    headers: ["Step", "Budget", "Recompute", "Recompute or offload", "Offloaded", "Lower bound"],
  });
}

function* graphsOf(folder, { stepMs }) {
  for (const file of readdirSync(folder).sort()) {
    if (!file.endsWith(".json")) continue;
    const json = JSON.parse(readFileSync(join(folder, file), "utf8"));
    if (json.name in stepMs) yield { name: json.name, graph: readGraphFile(json), stepMs: stepMs[json.name] };
  }
}

/** Traffic of a schedule: `~node` in its sequence reloads that node's value, which was offloaded once. */
function movedBy(graph, found) {
  const offloaded = new Set([...found.sequence].filter((v) => v < 0).map((v) => ~v));
  const movedBytes = sum([...offloaded].map((v) => graph.bytes[graph.outputs.values[graph.outputs.start[v]]]));
  return {
    overhead: found.overhead,
    offloads: offloaded.size,
    movedBytes,
    lowest: found.lowerBound / found.plain.cost - 1,
  };
}

function movedByPlan(trace, { plan, overhead }) {
  const { offloaded } = holdPlan(trace, plan);
  return {
    overhead,
    offloads: offloaded.length,
    movedBytes: sum(offloaded.map(({ bytes }) => bytes)),
    lowest: plan.predicted.lowerBound / plan.predicted.plain.cost - 1,
  };
}

const sum = (numbers) => numbers.reduce((total, each) => total + each, 0);
const percent = (fraction) => `${(100 * fraction).toFixed(3)}%`;
