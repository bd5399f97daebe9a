import { heldElsewhere, heldPeak } from "@remat/memory";
import { holdPlan, hostPeakBytes, movedBytes, type PlanMemory, type RecomputedStorage } from "@remat/memory/sequence";
import { stepMs } from "@remat/runtime-estimator";
import { describePlanMismatch, findPlanMismatch, type OpIndex, type Plan, RematError, type Trace } from "@remat/trace";

/** One choice between memory and time: what the trace's device holds at its peak, and what the step takes. */
export interface PlanPoint {
  /** `stock`: as recorded; `early release`: what the executor does without a plan; `not recomputed`: a plan in which every op runs once; `planned`. */
  readonly name: "stock" | "early release" | "not recomputed" | "planned";
  readonly peakBytes: number;
  /** Categories that hold something at the peak. */
  readonly bytesByCategory: Readonly<Record<string, number>>;
  readonly stepMs: number;
  /** Time beyond that of the step with everything run once, as a fraction of it: 0 but for a plan that recomputes, and for stock where its gradients take more kernels. */
  readonly overhead: number;
}

/** What is recomputed of one module, or of one kernel. */
export interface Recomputed {
  readonly name: string;
  /** How many ops are recomputed. */
  readonly runs: number;
  readonly ms: number;
  /** Of what they recompute, and a plan without them would hold. */
  readonly bytes: number;
}

/** A storage that is freed and recomputed. */
export interface FreedStorage {
  readonly bytes: number;
  readonly dtype: string;
  readonly shape: readonly number[];
  /** The op that makes it, and where. */
  readonly op: number;
  readonly opName: string;
  readonly module: string | undefined;
  /** How often it is recomputed, and what that takes, by itself. */
  readonly runs: number;
  readonly ms: number;
  /** The op after which it is first freed, and the one before which it is first recomputed. */
  readonly freedAfterOp: number;
  readonly neededByOp: number;
}

/** What is offloaded, all together. */
export interface Offloaded {
  readonly tensors: number;
  readonly bytes: number;
  /** That move back, as often as they do. */
  readonly reloadedBytes: number;
  /** The most of it that host memory holds at once. */
  readonly hostPeakBytes: number;
  /** What moving it takes of the step. */
  readonly transferMs: number;
}

/** What a plan does to a training step. */
export interface PlanSummary {
  readonly plan: Plan;
  readonly trace: Trace;
  /** What the ops were priced for, in words. */
  readonly pricedFor: string | undefined;
  /** In the order of their names, early release where it is known. */
  readonly points: readonly PlanPoint[];
  /** What other devices hold, as recorded, when the trace's holds most: not planned, and in none of the points. Bytes by device. */
  readonly elsewhere: ReadonlyMap<string, number>;
  /** All that is recomputed; modules by their first `depth` names. */
  readonly recomputed: Recomputed;
  readonly byModule: readonly Recomputed[];
  readonly byKernel: readonly Recomputed[];
  /** By what it takes to hold them: bytes, largest first. */
  readonly freed: readonly FreedStorage[];
  readonly freedCount: number;
  /** Undefined where nothing is. */
  readonly offloaded: Offloaded | undefined;
}

export interface SummarizePlanOptions {
  /** The plan in which every op runs once, and everything is freed after its last use. */
  readonly unrecomputed: Plan;
  /** The step of stock, where what was planned has other gradients than tfjs's own; left out: the trace is of it. */
  readonly stock?: Trace | undefined;
  /** What the step holds with early release, as `predictReleasedPeak` of `@remat/checkpoint` says; left out: nobody can say without its model. */
  readonly earlyRelease?: Pick<PlanPoint, "peakBytes" | "bytesByCategory"> | undefined;
  readonly pricedFor?: string;
  /** Modules are shown up to this many name components, numbers not counted; 2 if not given. */
  readonly depth?: number;
  /** How many of the freed storages to list; 10 if not given. */
  readonly limit?: number;
}

/**
 * Returns what a plan does to the training step that it was made for: memory at the peak by category beside that of the step as recorded and of freeing
 * alone, the time it takes, and what is recomputed, by module, by kernel and by storage.
 *
 * @throws RematError `PLAN_MISMATCH` where the plan is of another trace, naming the first op that differs
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

/** By step, the op whose first run comes next: what is recomputed there is so for it. */
function readersOf({ steps, ops }: Plan): Int32Array {
  const readers = new Int32Array(steps.length);
  let next = ops.length;
  for (let step = steps.length - 1; step >= 0; step--) {
    if (!steps[step].isRecomputed) next = steps[step].op;
    readers[step] = next;
  }
  return readers;
}

/** Sums up what is recomputed while a plan is followed. */
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

/** The first `depth` components of a name; a number goes with what it counts: `net.layers.0` has two. */
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
