import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { planCheckpointing, rematerialize } from "@remat/planner";
import { planningGraphOfTrace } from "@remat/planner/graph";
import { formatOccurrence } from "@remat/trace";
import { formatTable } from "@remat/trace/text";
import { peakResidentMiB, timeOnce } from "./measure.js";
import { planGraph } from "./plan-graph.js";
import { report } from "./report.js";
import { wholeSteps } from "./whole-steps.js";

const budgets = [0.5, 0.3];
/** Number of changes to try, which take equally long on any idle machine. The proof has a separate time limit. */
const effort = { iterations: 6_000_000, boundTimeMs: 8000 };
const limits = { seconds: 60, residentMiB: 1024 };

/**
 * Plans whole training steps of many thousands of ops, each in a separate process, at fractions of their peak under
 * early release. For comparison, runs the search alone with as much CPU time, without initial plans of blocks. Returns
 * the number of missed bounds.
 */
export async function planTraces(wanted = []) {
  const names = wanted.length > 0 ? wanted : Object.keys(wholeSteps);
  const rows = [];
  let missed = 0;
  for (const name of names)
    for (const budget of budgets) {
      const row = await inProcess({ name, budget });
      missed += row.isMissed ? 1 : 0;
      rows.push(row.cells);
      report(row.seconds);
      report(row.memory);
    }
  const headers = "Step,Nodes,Budget,Peak,Overhead,Bound,Gap,Without blocks,Wall s,CPU s,MiB".split(",");
  console.log(formatTable(rows, { headers }));
  return missed;
}

async function inProcess(task) {
  const child = fork(fileURLToPath(import.meta.url), ["--child"]);
  child.send(task);
  const [row] = await Promise.race([
    once(child, "message"),
    once(child, "exit").then(([code]) => {
      throw new Error(`planning ${task.name} ended with ${code}`);
    }),
  ]);
  child.disconnect();
  return row;
}

async function plan({ name, budget }) {
  const trace = await wholeSteps[name]();
  const graph = planningGraphOfTrace(trace);
  const { plain } = await rematerialize(graph, { budgetBytes: Number.MAX_VALUE, iterations: 0, boundTimeMs: 0 });
  const budgetBytes = budget * plain.peakBytes;
  const { wallMs, cpuMs, result } = await timeOnce(() => planCheckpointing(trace, { budgetBytes, ...effort }));
  const residentMiB = peakResidentMiB();
  const alone = await planGraph(graph, { budget, cpuS: cpuMs / 1000 });
  const { point, infeasible } = result;
  const percent = (fraction) => `${(100 * fraction).toFixed(3)}%`;
  const share = (bytes) => (bytes / plain.peakBytes).toFixed(4);
  const predicted = point?.plan.predicted;
  const what = `${name}, ${graph.nodeCount} nodes, at ${budget} of the peak`;
  const found = point
    ? `overhead ${percent(point.overhead)}, gap ${percent(predicted.gap)}`
    : `${infeasible.isProven ? "infeasible" : "none found"}, ${formatOccurrence(infeasible.occurrence)} needs ${infeasible.lowerBoundBytes} bytes`;
  return {
    seconds: { what, value: wallMs / 1000, cpu: cpuMs / 1000, unit: "s", bound: limits.seconds, note: found },
    memory: { what: "memory resident in it", value: residentMiB, unit: "MiB", bound: limits.residentMiB },
    isMissed: cpuMs > 1000 * limits.seconds || residentMiB > limits.residentMiB || (!point && !infeasible.isProven),
    cells: [
      name,
      String(graph.nodeCount),
      String(budget),
      share(point?.peakBytes ?? infeasible.smallestFoundBytes),
      point
        ? percent(point.overhead)
        : infeasible.isProven
          ? `infeasible: ${formatOccurrence(infeasible.occurrence)}`
          : "none found",
      predicted ? percent(predicted.lowerBound / plain.cost - 1) : "",
      predicted ? percent(predicted.gap) : "",
      alone.isFeasible ? percent(alone.overhead) : "none found",
      (wallMs / 1000).toFixed(1),
      (cpuMs / 1000).toFixed(1),
      residentMiB.toFixed(0),
    ],
  };
}

if (process.argv[2] === "--child" && process.send !== undefined) {
  const [task] = await once(process, "message");
  process.send(await plan(task));
}
