import { plainOrder } from "../bound/plain-order.js";
import type { PlanningGraph } from "../graph/planning-graph.js";
import { simulateSchedule } from "../schedule/simulate-schedule.js";

/** Number of bisection steps to find the part of the forward pass that is recomputed. */
const halvings = 6;

interface Tried {
  readonly sequence: Int32Array;
  readonly peakBytes: number;
  readonly cost: number;
}

/**
 * Creates a schedule that divides the nodes before the peak into stretches of equal length. It keeps only values that
 * pass from one stretch to the next, and recomputes each stretch when it is first read after the peak (Chen et al.
 * 2016, "Training deep nets with sublinear memory cost"). It tries several lengths and recomputes as little of the
 * forward pass as possible. The result is the cheapest schedule within the budget, or the one with the smallest peak.
 * It takes only a few passes over the graph, so that there is an answer for large graphs before a search makes
 * progress. Returns undefined if it does not reduce the peak.
 *
 * @param deadline the time (of `performance.now()`) after which only the first length is tried
 */
export function periodicCheckpoints(
  graph: PlanningGraph,
  budgetBytes: number,
  deadline: number = Number.POSITIVE_INFINITY,
): Int32Array | undefined {
  const { memory } = plainOrder(graph);
  let peak = 0;
  for (let t = 1; t < memory.length; t++) if (memory[t] > memory[peak]) peak = t;
  let best: Tried | undefined;
  const tryOut = (length: number, until: number): Tried | undefined => {
    const sequence = recomputeStretches(graph, length, until, peak);
    const simulated = simulateSchedule(graph, sequence);
    if (simulated === undefined) return undefined;
    const tried = { sequence, ...simulated };
    if (best === undefined || isBetter(tried, best, budgetBytes)) best = tried;
    return tried;
  };
  for (const length of stretchLengths(peak)) {
    if (best !== undefined && performance.now() > deadline) break;
    const whole = tryOut(length, peak);
    if (whole === undefined || whole.peakBytes > budgetBytes) continue;
    let [tooLittle, enough] = [0, peak];
    for (let i = 0; i < halvings && performance.now() <= deadline; i++) {
      const middle = (tooLittle + enough) >> 1;
      const tried = tryOut(length, middle);
      if (tried !== undefined && tried.peakBytes <= budgetBytes) enough = middle;
      else tooLittle = middle;
    }
  }
  return best !== undefined && best.peakBytes < memory[peak] ? best.sequence : undefined;
}

/** Returns lengths of stretches: first the square root of `count`, then lengths further and further from it. */
function stretchLengths(count: number): number[] {
  const root = Math.max(2, Math.round(Math.sqrt(count)));
  const lengths = [root];
  for (let factor = 2; root * factor < count || root / factor >= 2; factor *= 2) {
    if (root / factor >= 2) lengths.push(Math.round(root / factor));
    if (root * factor < count) lengths.push(root * factor);
  }
  return lengths;
}

function isBetter(a: Tried, b: Tried, budgetBytes: number): boolean {
  const [fitsA, fitsB] = [a.peakBytes <= budgetBytes, b.peakBytes <= budgetBytes];
  if (fitsA !== fitsB) return fitsA;
  return fitsA ? a.cost < b.cost || (a.cost === b.cost && a.peakBytes < b.peakBytes) : a.peakBytes < b.peakBytes;
}

/**
 * Returns an order of the nodes with recomputation. The graph is split into stretches of `length` nodes. Values created
 * before `until` are freed before `peak`, unless another stretch before the peak reads them.
 */
function recomputeStretches(graph: PlanningGraph, length: number, until: number, peak: number): Int32Array {
  const { nodeCount, valueCount, producer, consumers, recomputable, inputs, outputs } = graph;
  const isAbsent = new Uint8Array(valueCount);
  for (let w = 0; w < valueCount; w++) {
    const v = producer[w];
    if (v >= until || recomputable[v] === 0) continue;
    const stretchEnd = (Math.floor(v / length) + 1) * length;
    isAbsent[w] = 1;
    for (let i = consumers.start[w]; i < consumers.start[w + 1]; i++)
      if (consumers.values[i] >= stretchEnd && consumers.values[i] <= peak) isAbsent[w] = 0;
  }
  const sequence: number[] = [];
  const pending: number[] = [];
  /** Runs a node, after its missing inputs. */
  const run = (node: number): void => {
    pending.push(node);
    while (pending.length > 0) {
      const v = pending[pending.length - 1];
      const before = pending.length;
      for (let i = inputs.start[v]; i < inputs.start[v + 1]; i++)
        if (isAbsent[inputs.values[i]] === 1) pending.push(producer[inputs.values[i]]);
      if (pending.length > before) continue;
      pending.pop();
      // It may have been queued twice and exist by now.
      if (v !== node && !isMissing(v)) continue;
      sequence.push(v);
      for (let i = outputs.start[v]; i < outputs.start[v + 1]; i++) isAbsent[outputs.values[i]] = 0;
    }
  };
  const isMissing = (v: number): boolean => {
    for (let i = outputs.start[v]; i < outputs.start[v + 1]; i++) if (isAbsent[outputs.values[i]] === 1) return true;
    return false;
  };
  for (let v = 0; v < nodeCount; v++) {
    if (v <= peak) sequence.push(v);
    else run(v);
  }
  return Int32Array.from(sequence);
}
