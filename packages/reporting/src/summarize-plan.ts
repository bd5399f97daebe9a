import { heldElsewhere, heldPeak } from "@remat/memory";
import { holdPlan, hostPeakBytes, movedBytes, type PlanMemory, type RecomputedStorage } from "@remat/memory/sequence";
import { stepMs } from "@remat/runtime-estimator";
import { describePlanMismatch, findPlanMismatch, type OpIndex, type Plan, RematError, type Trace } from "@remat/trace";

/** One trade-off between memory and time: the peak on the trace's device, and the time of the step. */
export interface PlanPoint {
  /**
   * `stock`: the baseline, as recorded; `early release`: what the executor does without a plan; `not recomputed`: a
   * plan in which every op runs once; `planned`.
   */
  readonly name: "stock" | "early release" | "not recomputed" | "planned";
  readonly peakBytes: number;
  /** Categories in use at the peak. */
  readonly bytesByCategory: Readonly<Record<string, number>>;
  readonly stepMs: number;
  /**
   * Extra time as a fraction of the step in which every op runs once. It is 0 for all points except a plan that
   * recomputes, and a baseline whose gradients take more kernels.
   */
  readonly overhead: number;
}

/** Recomputation in one module or of one kernel. */
export interface Recomputed {
  readonly name: string;
  /** Number of op executions that are recomputations. */
  readonly runs: number;
  readonly ms: number;
  /** Bytes of the recomputed results, which a plan without recomputation would keep alive. */
  readonly bytes: number;
}

/** A storage that is freed and recomputed. */
export interface FreedStorage {
  readonly bytes: number;
  readonly dtype: string;
  readonly shape: readonly number[];
  /** The op that allocates it. */
  readonly op: number;
  readonly opName: string;
  /** Fully qualified name of the module that allocates it, or undefined if none does. */
  readonly module: string | undefined;
  /** How many times it is recomputed. */
  readonly runs: number;
  /** Time of all its recomputations in milliseconds. */
  readonly ms: number;
  /** The op after which it is first freed. */
  readonly freedAfterOp: number;
  /** The op before which it is first recomputed. */
  readonly neededByOp: number;
}

/** Totals of all offloaded tensors. */
export interface Offloaded {
  readonly tensors: number;
  readonly bytes: number;
  /** Bytes moved back to the device, counted each time. */
  readonly reloadedBytes: number;
  /** Peak host memory that offloaded tensors use. */
  readonly hostPeakBytes: number;
  /** Time that the transfers add to the step. */
  readonly transferMs: number;
}

/** The effect of a plan on a training step. */
export interface PlanSummary {
  readonly plan: Plan;
  readonly trace: Trace;
  /** The device or method used to estimate op times, in words. */
  readonly pricedFor: string | undefined;
  /** The trade-offs, in the order of {@link PlanPoint.name}. Early release is included only if known. */
  readonly points: readonly PlanPoint[];
  /**
   * Bytes that other devices use at the peak of the trace's device, as recorded, by device. They are not planned and
   * not part of any point.
   */
  readonly elsewhere: ReadonlyMap<string, number>;
  /** Total recomputation, and recomputation by module. Names of modules are cut to the first `depth` components. */
  readonly recomputed: Recomputed;
  readonly byModule: readonly Recomputed[];
  readonly byKernel: readonly Recomputed[];
  /** The storages that are freed and recomputed, largest first by bytes. */
  readonly freed: readonly FreedStorage[];
  readonly freedCount: number;
  /** Totals of the offloaded tensors. Undefined if nothing is offloaded. */
  readonly offloaded: Offloaded | undefined;
}

/** Options of {@link summarizePlan}. */
export interface SummarizePlanOptions {
  /** The plan in which every op runs once and everything is freed after its last use. */
  readonly unrecomputed: Plan;
  /**
   * The step with TensorFlow.js's own gradients, if the plan was made for other gradients. Left out if the trace itself
   * has them.
   */
  readonly stock?: Trace | undefined;
  /**
   * The step with early release, as predicted by `predictReleasedPeak` of `@remat/checkpoint`. Left out if unknown,
   * since it needs the model.
   */
  readonly earlyRelease?: Pick<PlanPoint, "peakBytes" | "bytesByCategory"> | undefined;
  readonly pricedFor?: string;
  /** Maximum number of name components of modules, not counting numbers (2 by default). */
  readonly depth?: number;
  /** How many freed storages to list (10 by default). */
  readonly limit?: number;
}

/**
 * Summarizes the effect of a plan on its training step. It compares memory at the peak by category, and time, with the
 * recorded step and with a plan without recomputation. It also lists the recomputation by module, kernel and storage.
 *
 * @throws RematError `PLAN_MISMATCH` if the plan belongs to another trace; the message names the first op that differs
 * @example
 * const unrecomputed = planOfTrace(trace, graph, await rematerialize(graph, { budgetBytes: 1e15, iterations: 0 }));
 * const summary = summarizePlan(plan, trace, { unrecomputed });
 * summary.points.at(-1).bytesByCategory.activation;
 */
export function summarizePlan(plan: Plan, trace: Trace, options: SummarizePlanOptions): PlanSummary {
  const mismatch = findPlanMismatch(plan, trace);
  if (mismatch !== undefined)
    throw new RematError(
      "PLAN_MISMATCH",
      `the plan is for another trace: ${describePlanMismatch(mismatch)}. Plan this trace, or open the one that was planned.`,
    );
  const { predicted } = plan;
  const planned = holdPlan(trace, plan);
  const { earlyRelease, unrecomputed } = options;
  const tally = new Tally(trace, plan, options.depth ?? 2);
  for (const { op, isRecomputed } of plan.steps) if (isRecomputed) tally.run(op);
  for (const storage of planned.recomputed) tally.recompute(storage);
  const plainMs = predicted.plain.cost;
  const { stock = trace } = options;
  const stockMs = stock === trace ? plainMs : stepMs(stock);
  const point = (
    name: PlanPoint["name"],
    { peakBytes, bytesByCategory }: Pick<PlanPoint, "peakBytes" | "bytesByCategory">,
    ms: number,
    overhead: number,
  ): PlanPoint => ({ name, peakBytes, bytesByCategory, stepMs: ms, overhead });
  return {
    plan,
    trace,
    pricedFor: options.pricedFor,
    points: [
      point("stock", heldPeak(stock), stockMs, plainMs > 0 ? stockMs / plainMs - 1 : 0),
      ...(earlyRelease === undefined ? [] : [point("early release", earlyRelease, plainMs, 0)]),
      point("not recomputed", holdPlan(trace, unrecomputed), plainMs, 0),
      point("planned", planned, predicted.cost, predicted.overhead),
    ],
    elsewhere: heldElsewhere(trace),
    recomputed: tally.total(),
    byModule: tally.modules(),
    byKernel: tally.kernels(),
    freed: tally.freed(options.limit ?? 10),
    freedCount: tally.freedCount,
    offloaded: offloadedOf(plan, planned),
  };
}

function offloadedOf({ origin }: Plan, { offloaded }: PlanMemory): Offloaded | undefined {
  if (offloaded.length === 0) return undefined;
  const bytes = offloaded.reduce((sum, storage) => sum + storage.bytes, 0);
  const moved = movedBytes(offloaded);
  return {
    tensors: offloaded.length,
    bytes,
    reloadedBytes: moved - bytes,
    hostPeakBytes: hostPeakBytes(offloaded),
    transferMs: (1000 * moved) / (origin.linkBytesPerSecond ?? Number.POSITIVE_INFINITY),
  };
}

interface Sum {
  runs: number;
  ms: number;
  bytes: number;
}

interface Freeing {
  runs: number;
  readonly bytes: number;
  op: number;
  freedAfterOp: number;
  neededByOp: number;
}

/** Returns, for each step, the op whose first run comes next. Recomputation in that step is for this op. */
function readersOf({ steps, ops }: Plan): Int32Array {
  const readers = new Int32Array(steps.length);
  let next = ops.length;
  for (let step = steps.length - 1; step >= 0; step--) {
    if (!steps[step].isRecomputed) next = steps[step].op;
    readers[step] = next;
  }
  return readers;
}

/** Sums up recomputation while a plan is followed. */
class Tally {
  private readonly trace: Trace;
  private readonly depth: number;
  private readonly plan: Plan;
  private readonly readers: Int32Array;
  private readonly all: Sum = { runs: 0, ms: 0, bytes: 0 };
  private readonly byModule = new Map<string, Sum>();
  private readonly byKernel = new Map<string, Sum>();
  private readonly frees = new Map<number, Freeing>();

  constructor(trace: Trace, plan: Plan, depth: number) {
    this.trace = trace;
    this.plan = plan;
    this.depth = depth;
    this.readers = readersOf(plan);
  }

  get freedCount(): number {
    return this.frees.size;
  }

  run(op: OpIndex): void {
    const ms = this.trace.ops.runtimeMs[op];
    for (const sum of this.sumsOf(op)) {
      sum.runs++;
      if (ms > 0) sum.ms += ms;
    }
  }

  recompute({ storage, bytes, op, step, freedAfterStep }: RecomputedStorage): void {
    for (const sum of this.sumsOf(op)) sum.bytes += bytes;
    const known = this.frees.get(storage);
    if (known !== undefined) known.runs++;
    else
      this.frees.set(storage, {
        runs: 1,
        bytes,
        op,
        freedAfterOp: this.plan.steps[freedAfterStep].op,
        neededByOp: this.readers[step],
      });
  }

  total(): Recomputed {
    return { name: "total", ...this.all };
  }

  modules(): Recomputed[] {
    return byTime(this.byModule);
  }

  kernels(): Recomputed[] {
    return byTime(this.byKernel);
  }

  freed(limit: number): FreedStorage[] {
    const { trace } = this;
    return [...this.frees]
      .sort(([a, { bytes: ofA }], [b, { bytes: ofB }]) => ofB - ofA || a - b)
      .slice(0, limit)
      .map(([storage, { runs, bytes, op, freedAfterOp, neededByOp }]) => {
        const tensor = trace.opOutputs(op).find((one) => trace.tensorStorages(one).includes(storage))!;
        return {
          bytes,
          dtype: trace.tensorDtype(tensor),
          shape: trace.tensorShape(tensor),
          op,
          opName: trace.opName(op),
          module: trace.opModule(op)?.fqn,
          runs,
          ms: runs * (trace.ops.runtimeMs[op] || 0),
          freedAfterOp,
          neededByOp,
        };
      });
  }

  private sumsOf(op: OpIndex): readonly Sum[] {
    const fqn = this.trace.opModule(op)?.fqn;
    const module = fqn === undefined ? "(outside modules)" : firstNames(fqn, this.depth);
    return [this.all, sumIn(this.byModule, module), sumIn(this.byKernel, this.trace.opName(op))];
  }
}

/**
 * Returns the first `depth` components of a name. A number counts together with the component before it, so
 * `net.layers.0` has two components.
 */
function firstNames(fqn: string, depth: number): string {
  const components = fqn.split(".");
  let end = 0;
  for (let taken = 0; end < components.length && (taken < depth || isNumber(components[end])); end++)
    if (!isNumber(components[end])) taken++;
  return components.slice(0, end).join(".");
}

function isNumber(component: string): boolean {
  return /^\d+$/.test(component);
}

function sumIn(sums: Map<string, Sum>, name: string): Sum {
  let sum = sums.get(name);
  if (sum === undefined) sums.set(name, (sum = { runs: 0, ms: 0, bytes: 0 }));
  return sum;
}

function byTime(sums: ReadonlyMap<string, Sum>): Recomputed[] {
  return Array.from(sums, ([name, sum]) => ({ name, ...sum })).sort(
    (a, b) => b.ms - a.ms || b.bytes - a.bytes || (a.name < b.name ? -1 : 1),
  );
}
