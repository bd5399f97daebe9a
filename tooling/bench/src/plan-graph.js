import { rematerialize, simulateSchedule } from "@remat/planner";
import { cpuMs } from "./measure.js";

/** Wall time over CPU time of the last plan. */
let slowdown = 1;

export const plainSequence = (graph) => Array.from({ length: graph.nodeCount }, (_, v) => v);

/**
 * Plans a graph within a limit of CPU time, independent of other load on the machine, and checks the schedule in the
 * simulator.
 */
export async function planGraph(graph, { budget, order = "fixed", cpuS, seed = 0, ...options }) {
  const plain = simulateSchedule(graph, plainSequence(graph));
  // A share of the peak is meant exactly, but its product with the peak may be rounded down.
  const budgetBytes = budget * plain.peakBytes * (1 + 1e-12);
  const controller = new AbortController();
  const began = cpuMs();
  const beganAt = performance.now();
  const found = await rematerialize(graph, {
    budgetBytes,
    order,
    seed,
    timeMs: 10_000 * cpuS,
    // The solver uses wall time, which on a busy machine exceeds its CPU time.
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

/** Progress is reported about ten times per second, so this much time may be left at the last report. */
const marginMs = 130;
