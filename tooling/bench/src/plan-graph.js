import { rematerialize, simulateSchedule } from "@remat/planner";
import { cpuMs } from "./measure.js";

/** Wall time over CPU time, of the last plan. */
let slowdown = 1;

export const plainSequence = (graph) => Array.from({ length: graph.nodeCount }, (_, v) => v);

/**
 * Plans a graph within so much CPU time of this process, whatever else the machine does, and checks the schedule by running it through
 * the simulator.
 */
export async function planGraph(graph, { budget, order = "fixed", cpuS, seed = 0, ...options }) {
  const plain = simulateSchedule(graph, plainSequence(graph));
  // A share of the peak is meant to the last byte, which its product with the peak may miss.
  const budgetBytes = budget * plain.peakBytes * (1 + 1e-12);
  const controller = new AbortController();
  const began = cpuMs();
  const beganAt = performance.now();
  const found = await rematerialize(graph, {
    budgetBytes,
    order,
    seed,
    timeMs: 10_000 * cpuS,
    // The solver goes by the clock, which on a busy machine runs ahead of the CPU time that it gets.
    boundTimeMs: 350 * cpuS * slowdown,
    ...options,
    signal: controller.signal,
    onProgress: () => {
      if (cpuMs() - began >= 1000 * cpuS - marginMs) controller.abort();
    },
  });
  const usedS = (cpuMs() - began) / 1000;
  slowdown = Math.min(4, Math.max(1, (performance.now() - beganAt) / 1000 / usedS));
  const checked = simulateSchedule(graph, found.sequence);
  if (checked?.cost !== found.cost || checked.peakBytes !== found.peakBytes)
    throw new Error(`the schedule does not hold what it says: ${JSON.stringify(checked)}`);
  if (found.isFeasible && checked.peakBytes > budgetBytes)
    throw new Error(`the schedule holds ${checked.peakBytes} bytes, more than the budget of ${budgetBytes}`);
  return { ...found, cpuS: usedS };
}

/** Progress is told some ten times a second: what may be left of the time when it is told for the last time. */
const marginMs = 130;
