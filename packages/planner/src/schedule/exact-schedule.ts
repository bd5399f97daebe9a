import { canBeReloaded, type PlanningGraph } from "../graph/planning-graph.js";
import type { LoweringLimits } from "./lowered-budget.js";
import { simulateSchedule } from "./simulate-schedule.js";

/** Largest number of nodes and of values in a graph, so that each has a bit in a state. */
const mostBits = 16;
/** Largest number of states. Reaching it takes tens of milliseconds. */
const mostStates = 20_000;

/** The result of an exact search. @internal */
export interface ExactSchedule {
  /**
   * A sequence with the lowest cost within the budget. If several have that cost, it has the smallest peak of them.
   * Undefined if no sequence is within the budget.
   */
  readonly sequence: Int32Array | undefined;
}

/**
 * Returns a schedule of lowest cost for a small graph, or the proof that none is within the budget. Returns undefined
 * if the graph is too large, or its bytes are not whole numbers.
 *
 * It uses Dijkstra's algorithm over states: which nodes have run, which values are alive, and which were offloaded.
 * Every schedule runs each node at least once, so the cost of a state includes only additional runs and transfers.
 * @internal
 */
export function exactSchedule(graph: PlanningGraph, budgetBytes: number, isFree: boolean): ExactSchedule | undefined {
  const { nodeCount, valueCount, bytes, workspaceBytes, baseBytes, inputs, outputs, result, transfers } = graph;
  if (nodeCount > mostBits || valueCount > mostBits) return undefined;
  // Sums of whole numbers do not depend on their order.
  if (![bytes, workspaceBytes, [baseBytes]].every((sizes) => sizes.every((size) => Number.isInteger(size))))
    return undefined;
  const reads = bitsOfRows(inputs, nodeCount);
  const makes = bitsOfRows(outputs, nodeCount);
  let results = 0;
  for (let w = 0; w < valueCount; w++) if (result[w] === 1) results |= 1 << w;
  const everyNode = 2 ** nodeCount - 1;
  const heldBytes = (values: number): number => {
    let held = baseBytes;
    for (let left = values; left !== 0; left &= left - 1) held += bytes[31 - Math.clz32(left & -left)];
    return held;
  };

  const states = new States();
  states.reach({ ran: 0, alive: 0, offloaded: 0 }, { extraCost: 0, peakBytes: baseBytes, parent: -1, step: noStep });
  while (states.count <= mostStates) {
    const at = states.next();
    if (at < 0) return { sequence: undefined };
    const { ran, alive, offloaded } = states.stateOf(at);
    if (ran === everyNode && (results & ~alive) === 0) return { sequence: states.sequenceTo(at) };
    const extraCost = states.extraCost[at];
    const peakBytes = states.peakBytes[at];
    for (let left = alive; left !== 0; left &= left - 1)
      states.reach(
        { ran, alive: alive & ~(left & -left), offloaded },
        { extraCost, peakBytes, parent: at, step: noStep },
      );
    for (let v = 0; v < nodeCount; v++) {
      const bit = 1 << v;
      const isFirst = (ran & bit) === 0;
      const next = alive | makes[v];
      const held = heldBytes(next);
      const canRun = isFirst ? isFree || ran === bit - 1 : graph.recomputable[v] === 1;
      if (canRun && (reads[v] & ~alive) === 0 && held + workspaceBytes[v] <= budgetBytes)
        states.reach(
          { ran: ran | bit, alive: next, offloaded },
          {
            extraCost: isFirst ? extraCost : extraCost + graph.cost[v],
            peakBytes: Math.max(peakBytes, held + workspaceBytes[v]),
            parent: at,
            step: v,
          },
        );
      if (isFirst || next === alive || held > budgetBytes || transfers === undefined || !canBeReloaded(graph, v))
        continue;
      const moves = transfers.reload[v] + ((offloaded & bit) === 0 ? transfers.offload[v] : 0);
      states.reach(
        { ran, alive: next, offloaded: offloaded | bit },
        { extraCost: extraCost + moves, peakBytes: Math.max(peakBytes, held), parent: at, step: ~v },
      );
    }
  }
  return undefined;
}

/**
 * Returns a schedule with the smallest peak among those of at most a cost, or undefined if the graph is too large to
 * prove it. Lower budgets never cost less, so it bisects the budget. @internal
 */
export function exactScheduleWithin(
  graph: PlanningGraph,
  { mostCost, leastBytes }: LoweringLimits,
  isFree: boolean,
): Int32Array | undefined {
  let smallest: Int32Array = Int32Array.from({ length: graph.nodeCount }, (_, v) => v);
  let peakBytes = simulateSchedule(graph, smallest)!.peakBytes;
  // Budgets up to `failedBytes` cost too much.
  for (let failedBytes = leastBytes - 1; peakBytes - failedBytes > 1; ) {
    const budgetBytes = Math.floor((failedBytes + peakBytes) / 2);
    const exact = exactSchedule(graph, budgetBytes, isFree);
    if (exact === undefined) return undefined;
    const simulated = exact.sequence && simulateSchedule(graph, exact.sequence);
    if (simulated === undefined || simulated.cost > mostCost) failedBytes = budgetBytes;
    else {
      smallest = exact.sequence!;
      peakBytes = simulated.peakBytes;
    }
  }
  return smallest;
}

/** The step of a state that is reached by freeing a value. */
const noStep = Number.MIN_SAFE_INTEGER;

interface State {
  /** Bits of the nodes that have run, the values that are alive, and the nodes whose value was offloaded. */
  readonly ran: number;
  readonly alive: number;
  readonly offloaded: number;
}

/** The best known way to reach a state. */
interface Way {
  readonly extraCost: number;
  readonly peakBytes: number;
  readonly parent: number;
  /** A step as in a sequence, or `noStep`. */
  readonly step: number;
}

/** The states found so far, with the best way to each, and a heap of the states to continue from. */
class States {
  readonly extraCost: number[] = [];
  readonly peakBytes: number[] = [];
  private readonly states: State[] = [];
  private readonly parent: number[] = [];
  private readonly step: number[] = [];
  private readonly isDone: boolean[] = [];
  private readonly ids = new Map<number, number>();
  private readonly heap: { readonly id: number; readonly extraCost: number; readonly peakBytes: number }[] = [];

  get count(): number {
    return this.states.length;
  }

  stateOf(id: number): State {
    return this.states[id];
  }

  reach(state: State, { extraCost, peakBytes, parent, step }: Way): void {
    const key = (state.offloaded * 2 ** mostBits + state.ran) * 2 ** mostBits + state.alive;
    const known = this.ids.get(key);
    const id = known ?? this.states.length;
    if (known === undefined) {
      this.ids.set(key, id);
      this.states.push(state);
    } else if (
      this.isDone[id] ||
      extraCost > this.extraCost[id] ||
      (extraCost === this.extraCost[id] && peakBytes >= this.peakBytes[id])
    )
      return;
    this.extraCost[id] = extraCost;
    this.peakBytes[id] = peakBytes;
    this.parent[id] = parent;
    this.step[id] = step;
    this.isDone[id] = false;
    this.push(id);
  }

  /** Takes the cheapest state that was not taken yet, or -1 if none exists. */
  next(): number {
    const { heap, isDone } = this;
    while (heap.length > 0) {
      const { id } = this.pop();
      if (isDone[id]) continue;
      isDone[id] = true;
      return id;
    }
    return -1;
  }

  sequenceTo(id: number): Int32Array {
    const steps: number[] = [];
    for (let at = id; at >= 0; at = this.parent[at]) if (this.step[at] !== noStep) steps.push(this.step[at]);
    return Int32Array.from(steps.reverse());
  }

  private isBefore(i: number, j: number): boolean {
    const [a, b] = [this.heap[i], this.heap[j]];
    return a.extraCost < b.extraCost || (a.extraCost === b.extraCost && a.peakBytes < b.peakBytes);
  }

  private push(id: number): void {
    const { heap } = this;
    heap.push({ id, extraCost: this.extraCost[id], peakBytes: this.peakBytes[id] });
    for (let i = heap.length - 1; i > 0 && this.isBefore(i, (i - 1) >> 1); i = (i - 1) >> 1) this.swap(i, (i - 1) >> 1);
  }

  private pop() {
    const { heap } = this;
    this.swap(0, heap.length - 1);
    const first = heap.pop()!;
    for (let i = 0; ; ) {
      let least = i;
      for (const child of [2 * i + 1, 2 * i + 2]) if (child < heap.length && this.isBefore(child, least)) least = child;
      if (least === i) return first;
      this.swap(i, least);
      i = least;
    }
  }

  private swap(i: number, j: number): void {
    const { heap } = this;
    [heap[i], heap[j]] = [heap[j], heap[i]];
  }
}

function bitsOfRows(rows: { readonly start: Int32Array; readonly values: Int32Array }, count: number): number[] {
  return Array.from({ length: count }, (_, v) => {
    let bits = 0;
    for (let i = rows.start[v]; i < rows.start[v + 1]; i++) bits |= 1 << rows.values[i];
    return bits;
  });
}
