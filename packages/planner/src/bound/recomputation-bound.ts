import { RematError } from "@remat/trace";
import { canBeReloaded, canReturn, type PlanningGraph } from "../graph/planning-graph.js";
import {
  type MixedIntegerRow,
  type MixedIntegerSolution,
  solveMixedInteger,
  solverFailed,
} from "../solve-mixed-integer.js";
import { type PlainOrder, plainOrder } from "./plain-order.js";

/** A bound on every schedule within a budget. See {@link recomputationBound}. */
export interface RecomputationBound {
  /** A lower bound on the cost that any schedule within the budget adds to running every node once. */
  readonly extraCost: number;
  /** True if it is proven that no schedule is within the budget. */
  readonly isInfeasible: boolean;
}

/**
 * Approximate number of matrix entries in a relaxation, and in a search for whole numbers. More entries hardly raise
 * the bound.
 */
const relaxedEntries = 20_000;
const wholeEntries = 60_000;
/**
 * Limit on the entries for required inputs, as a multiple of the entries, over all moments. In a graph that is deep
 * everywhere, each moment would require the whole graph.
 */
const mostRequired = 10;
/** Limit on the number of values that could be absent, over all examined moments. */
const mostAbsent = 300_000;

/**
 * Returns a lower bound on the recomputation cost of any schedule whose first runs follow the given order. HiGHS solves
 * a mixed-integer program for it, or bounds its solution from below within the time limit.
 *
 * Consider the first run of node t, and a value that was created before it and is read by a later first run. The value
 * is either live, or absent and recomputed before that later run. A gap lies between two consecutive first runs that
 * create or read the value. An absence in a gap costs one more run of the value's node. Each gap needs a run of its
 * own, except that overlapping gaps of several outputs of one node share one run. The inputs of such a run are live, or
 * are recomputed in turn. That happens in a gap of their own, or after their last gap, at the cost of one run of their
 * node. This continues down to values that cannot be recomputed, which must be live.
 *
 * If values can be offloaded, an absent value may be reloaded instead. That needs no inputs and costs the offloading
 * once. At every moment, the bytes in use are within the budget. The program links different moments only through the
 * set of recomputed values. It leaves the order of their runs open, so the result is a bound.
 *
 * @param options.timeLimitS time limit in seconds
 * @param options.enoughCost stops early once the bound reaches this cost
 * @example
 * const { extraCost, isInfeasible } = await recomputationBound(graph, budgetBytes, { timeLimitS: 2 });
 */
export async function recomputationBound(
  graph: PlanningGraph,
  budgetBytes: number,
  options: { readonly timeLimitS: number; readonly enoughCost?: number },
): Promise<RecomputationBound> {
  const began = performance.now();
  const left = () => options.timeLimitS - (performance.now() - began) / 1000;
  const order = plainOrder(graph);
  const unit = graph.cost.reduce((sum, cost) => sum + cost, 0) / Math.max(1, graph.nodeCount) || 1;
  const rounded = (cost: number) => roundedUp(graph, Math.max(0, cost * unit));
  const all = momentsOver(graph, order, budgetBytes);

  if (left() < 0.05) return { extraCost: 0, isInfeasible: false };
  const relaxed = program(graph, order, thinned(all, relaxedEntries), unit, mostRequired * relaxedEntries);
  const relaxation = await solve(
    { ...relaxed, isWhole: new Uint8Array(relaxed.cost.length) },
    { relativeGap: 0, timeLimitS: Math.max(0.05, left()) },
  );
  if (relaxation === undefined) return { extraCost: 0, isInfeasible: false };
  if (relaxation.isInfeasible) return { extraCost: Number.POSITIVE_INFINITY, isInfeasible: true };
  let extraCost = relaxation.isOptimal ? rounded(relaxation.cost * (1 - 1e-9)) : 0;
  if (extraCost >= (options.enoughCost ?? Number.POSITIVE_INFINITY) || left() < 0.05)
    return { extraCost, isInfeasible: false };

  const whole = program(graph, order, thinned(all, wholeEntries), unit, mostRequired * wholeEntries);
  if (left() < 0.05) return { extraCost, isInfeasible: false };
  const solution = await solve(whole, { relativeGap: 1e-7, timeLimitS: left() });
  if (solution === undefined) return { extraCost, isInfeasible: false };
  if (solution.isInfeasible) return { extraCost: Number.POSITIVE_INFINITY, isInfeasible: true };
  if (solution.lowerBound > 0) extraCost = Math.max(extraCost, rounded(solution.lowerBound * (1 - 1e-7)));
  return { extraCost, isInfeasible: false };
}

/** Solves a program. Returns undefined if the solver fails, because nothing is proven then. */
async function solve(...problem: Parameters<typeof solveMixedInteger>): Promise<MixedIntegerSolution | undefined> {
  try {
    return await solveMixedInteger(...problem);
  } catch (error) {
    if (error instanceof RematError && error.code === solverFailed) return undefined;
    throw error;
  }
}

/** Rounds a bound up to a whole number if all costs are whole numbers. */
function roundedUp(graph: PlanningGraph, cost: number): number {
  const isWhole = cost < 1e9 && graph.transfers === undefined && graph.cost.every((c) => Number.isInteger(c));
  return isWhole ? Math.ceil(cost - 1e-4) : cost;
}

interface Moment {
  readonly time: number;
  /** For each value that could be absent, the key of its column: the component of gaps that it belongs to. */
  readonly absent: ReadonlyMap<number, number>;
  readonly excess: number;
}

/** Returns the moments at which the plain order exceeds the budget, without moments that a neighbouring one implies. */
function momentsOver(graph: PlanningGraph, order: PlainOrder, budgetBytes: number): Moment[] {
  const { memory, gaps } = order;
  const times = someOver(graph, order, budgetBytes);
  const absentAt = new Map(times.map((t) => [t, new Map<number, number>()]));
  /** For each node, the number of moments before it. */
  const before = new Int32Array(graph.nodeCount + 1);
  for (const t of times) before[t + 1] = 1;
  for (let t = 1; t < before.length; t++) before[t] += before[t - 1];
  let component = -1;
  for (let v = 0; v < graph.nodeCount; v++) {
    if (!canReturn(graph, v)) continue;
    let reach = -1;
    for (const { value, from, to } of gaps[v]) {
      if (graph.bytes[value] === 0) continue;
      if (from >= reach) component++;
      reach = Math.max(reach, to);
      for (let i = before[from + 1]; i < before[to]; i++)
        absentAt.get(times[i])?.set(value, component * graph.nodeCount + v);
    }
  }
  const moments = [...absentAt].map(([time, absent]) => ({ time, absent, excess: memory[time] - budgetBytes }));
  const implies = (a: Moment | undefined, b: Moment) =>
    a !== undefined &&
    a.excess >= b.excess &&
    a.absent.size <= b.absent.size &&
    [...a.absent].every(([value, column]) => b.absent.get(value) === column);
  return moments.filter(
    (moment, i) =>
      !implies(moments[i - 1], moment) &&
      !(i + 1 < moments.length && implies(moments[i + 1], moment) && !implies(moment, moments[i + 1])),
  );
}

/**
 * Returns the moments over the budget. If there are too many to examine, it returns the moment furthest over the budget
 * in each stretch.
 */
function someOver(graph: PlanningGraph, { memory, gaps }: PlainOrder, budgetBytes: number): number[] {
  const over: number[] = [];
  for (let t = 0; t < graph.nodeCount; t++) if (memory[t] > budgetBytes) over.push(t);
  const change = new Int32Array(graph.nodeCount + 2);
  for (let v = 0; v < graph.nodeCount; v++)
    if (canReturn(graph, v))
      for (const { from, to } of gaps[v]) {
        change[from + 1]++;
        change[to]--;
      }
  const absent = new Int32Array(graph.nodeCount);
  for (let t = 0, count = 0; t < graph.nodeCount; t++) {
    count += change[t];
    absent[t] = count;
  }
  const total = over.reduce((sum, t) => sum + absent[t], 0);
  const stretch = Math.ceil(total / mostAbsent);
  if (stretch < 2) return over;
  const chosen: number[] = [];
  for (let i = 0; i < over.length; i += stretch)
    chosen.push(over.slice(i, i + stretch).reduce((most, t) => (memory[t] > memory[most] ? t : most)));
  return chosen;
}

/**
 * Returns as many moments as fit into a matrix of about `entries` entries: the one furthest over the budget in each
 * stretch.
 */
function thinned(moments: readonly Moment[], entries: number): readonly Moment[] {
  const perMoment = 6;
  const total = moments.reduce((sum, { absent }) => sum + absent.size * perMoment, 0);
  if (total <= entries) return moments;
  const stretch = Math.ceil(total / entries);
  const chosen: Moment[] = [];
  for (let i = 0; i < moments.length; i += stretch)
    chosen.push(moments.slice(i, i + stretch).reduce((most, m) => (m.excess > most.excess ? m : most)));
  return chosen;
}

/** Columns for values that return: recomputed or reloaded. */
interface Returns {
  readonly again: Map<number, number>;
  readonly reloaded: Map<number, number>;
}

/** Requires the inputs of `v` if `reason` is true and none of `unless` is. */
interface Requirement {
  readonly v: number;
  readonly reason: number;
  readonly unless: readonly number[];
}

function program(
  graph: PlanningGraph,
  { lastUse }: PlainOrder,
  moments: readonly Moment[],
  unit: number,
  requiredEntries: number,
): { cost: number[]; upper: Float64Array; isWhole: Uint8Array; rows: MixedIntegerRow[] } {
  const { bytes, producer, inputs, recomputable, transfers } = graph;
  const cost: number[] = [];
  const rows: MixedIntegerRow[] = [];
  const whole: number[] = [];
  const column = (price: number) => cost.push(price) - 1;
  const memo = (columns: Map<number, number>, key: number, price: number) => {
    let c = columns.get(key);
    if (c === undefined) {
      c = column(price / unit);
      columns.set(key, c);
      whole.push(c);
    }
    return c;
  };
  /**
   * Columns for recomputing or reloading within a component of gaps, for recomputing or reloading after the last gap,
   * and for offloading.
   */
  const inGap: Returns = { again: new Map(), reloaded: new Map() };
  const afterwards: Returns = { again: new Map(), reloaded: new Map() };
  const offloaded = new Map<number, number>();
  const reloadedAt = (columns: Map<number, number>, key: number, v: number): number[] => {
    if (transfers === undefined || !canBeReloaded(graph, v)) return [];
    const isNew = !columns.has(key);
    const reloaded = memo(columns, key, transfers.reload[v]);
    if (isNew)
      rows.push({ columns: [memo(offloaded, v, transfers.offload[v]), reloaded], values: [1, -1], atLeast: 0 });
    return [reloaded];
  };
  /**
   * Adds the row that an absent value has to return, by recomputation or reloading. Returns the columns for reloading
   * it.
   */
  const requireReturn = (returns: Returns, key: number, v: number, absent: number): readonly number[] => {
    const reloaded = reloadedAt(returns.reloaded, key, v);
    const again = recomputable[v] === 1 ? [memo(returns.again, key, graph.cost[v])] : [];
    const ways = [...again, ...reloaded];
    rows.push({ columns: [...ways, absent], values: [...ways.map(() => 1), -1], atLeast: 0 });
    return reloaded;
  };

  /** Requirements beyond this limit are left out, which can only lower the bound. */
  const entriesEach = Math.ceil(requiredEntries / Math.max(1, moments.length));

  for (const { time, absent, excess } of moments) {
    let entries = 0;
    const waiting: Requirement[] = [];
    const columns: number[] = [];
    const values: number[] = [];
    const held = new Map<number, number>();
    const isMissing = new Map<number, number>();
    /**
     * Requires the inputs of v if v runs after this moment because of `reason` and is not reloaded. The inputs of those
     * inputs are queued.
     */
    const require = ({ v, reason, unless }: Requirement) => {
      for (let i = inputs.start[v]; i < inputs.start[v + 1]; i++) {
        const w = inputs.values[i];
        if (lastUse[w] >= time) continue;
        const u = producer[w];
        const isNew = !held.has(w);
        if (isNew) {
          const hold = column(0);
          held.set(w, hold);
          columns.push(hold);
          values.push(-bytes[w]);
        }
        if (isNew && canReturn(graph, u)) {
          const missing = column(0);
          isMissing.set(w, missing);
          const reloaded = requireReturn(afterwards, u, u, missing);
          if (recomputable[u] === 1) waiting.push({ v: u, reason: missing, unless: reloaded });
        }
        const missing = isMissing.get(w);
        entries += 3 + unless.length;
        const there = missing === undefined ? [held.get(w)!] : [held.get(w)!, missing];
        rows.push({
          columns: [...there, ...unless, reason],
          values: [...there.map(() => 1), ...unless.map(() => 1), -1],
          atLeast: 0,
        });
      }
    };
    for (const [w, component] of absent) {
      const isAbsent = column(0);
      const v = producer[w];
      const reloaded = requireReturn(inGap, component, v, isAbsent);
      columns.push(isAbsent);
      values.push(bytes[w]);
      if (recomputable[v] === 1) waiting.push({ v, reason: isAbsent, unless: reloaded });
    }
    // The nearest requirements come first, so that the most distant are left out.
    for (let next = 0; next < waiting.length && entries < entriesEach; next++) require(waiting[next]);
    // Values are scaled by the largest, because the tolerances of a solver are absolute.
    const scale = values.reduce((most, size) => Math.max(most, Math.abs(size)), excess);
    rows.push({ columns, values: values.map((size) => size / scale), atLeast: excess / scale });
  }
  const isWhole = new Uint8Array(cost.length);
  for (const c of whole) isWhole[c] = 1;
  return { cost, upper: new Float64Array(cost.length).fill(1), isWhole, rows };
}
