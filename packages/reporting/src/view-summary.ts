import { type MemoryMoment, peakMoment, tellsLifetimes } from "@remat/memory";
import { countSteps, stepMs } from "@remat/runtime-estimator";
import { greedyOrder, opsTogether, type SACStats, sacStats } from "@remat/sac-core";
import { type CategoryName, type PhaseName, phaseNames, type Trace } from "@remat/trace";
import { categoryStack } from "./category-colours.js";

/** A recommended plan. */
export interface RecommendedPlan {
  /** Allowed extra time as a fraction of the unmodified step's time: 0, 0.05 or 0.2. */
  readonly allowedOverhead: number;
  readonly peakBytes: number;
  readonly stepMs: number;
  /** Actual extra time as a fraction of running every op once. */
  readonly overhead: number;
  /**
   * Optimality gap: an upper bound on how much cheaper another plan within the same bytes could be, as a fraction of
   * this plan's cost.
   */
  readonly gap: number | undefined;
}

/** A group of ops whose results free the most memory for their recomputation time. */
export interface RecomputeCandidate {
  readonly opName: string;
  /**
   * Fully qualified name. If modules differ only in numbers between dots, `*` stands for these: `layers.*.attention`.
   */
  readonly module: string;
  /** Number of ops of that kind in those modules. */
  readonly ops: number;
  readonly bytes: number;
  readonly recomputationMs: number;
}

/** The first page of a report. */
export interface ReportSummary {
  readonly title: string;
  readonly opCount: number;
  readonly moduleCount: number;
  /** The peak. Undefined if the trace does not record lifetimes. */
  readonly peak: MemoryMoment | undefined;
  /** Categories at the peak, in stacking order. */
  readonly categories: readonly {
    readonly category: CategoryName;
    readonly bytes: number;
    readonly share: number;
  }[];
  /** Number of training steps recorded. */
  readonly steps: number;
  /** Time of all steps together. */
  readonly stepMs: number;
  /** Time and number of ops by phase, for phases in which ops ran. */
  readonly phases: readonly { readonly phase: PhaseName; readonly ms: number; readonly ops: number }[];
  /** Candidates of the outermost module, the best first. */
  readonly recomputeFirst: readonly RecomputeCandidate[];
}

/**
 * Returns the summary of a run: the peak by category, the storages that are alive at the peak, time by phase, and what
 * to recompute first.
 *
 * @example
 * const { peak, recomputeFirst } = viewSummary(trace);
 */
export function viewSummary(trace: Trace, options: { readonly limit?: number } = {}): ReportSummary {
  const limit = options.limit ?? 5;
  const peak = tellsLifetimes(trace) ? peakMoment(trace, { limit }) : undefined;
  const ms = new Float64Array(phaseNames.length);
  const ops = new Int32Array(phaseNames.length);
  for (let op = 0; op < trace.ops.count; op++) {
    const phase = trace.ops.phase[op];
    ops[phase]++;
    if (Number.isFinite(trace.ops.runtimeMs[op])) ms[phase] += trace.ops.runtimeMs[op];
  }
  return {
    title: trace.header.model ?? "model",
    opCount: trace.ops.count,
    moduleCount: trace.modules.length,
    peak,
    categories: categoryStack.flatMap((category) => {
      const bytes = peak?.bytesByCategory[category];
      return peak === undefined || bytes === undefined
        ? []
        : [{ category, bytes, share: peak.totalBytes > 0 ? bytes / peak.totalBytes : 0 }];
    }),
    steps: countSteps(trace),
    stepMs: stepMs(trace),
    phases: phaseNames.flatMap((phase, i) => (ops[i] === 0 ? [] : [{ phase, ms: ms[i], ops: ops[i] }])),
    recomputeFirst: candidatesOf(trace, limit),
  };
}

/**
 * Returns the first ops in the greedy order of the module with the most ops. Ops of one kind in one module are
 * combined.
 */
function candidatesOf(trace: Trace, limit: number): readonly RecomputeCandidate[] {
  let whole: SACStats | undefined;
  for (const stats of sacStats(trace).values())
    if (whole === undefined || stats.ops.length > whole.ops.length) whole = stats;
  if (whole === undefined) return [];
  const order = greedyOrder(whole);
  const { mspsMeta } = order;
  const groups = new Map<string, RecomputeCandidate & { ops: number; bytes: number; recomputationMs: number }>();
  const total = whole.memoryBytes.reduce((sum, bytes) => sum + bytes, 0);
  let given = 0;
  // Stops at half of the memory, since the ops beyond it are no longer the best.
  for (let i = 0; i < mspsMeta.count && given < total / 2; i++) {
    if (!(mspsMeta.memoryBytes[i] > 0)) continue;
    given += mspsMeta.memoryBytes[i];
    const head = mspsMeta.opIdx[i];
    const module = trace.opModule(whole.ops[head])?.fqn ?? "";
    const alike = module.replace(/(?<=^|\.)\d+(?=\.|$)/g, "*");
    const key = `${whole.funcNames[head]}\n${alike}`;
    const group = groups.get(key) ?? {
      opName: whole.funcNames[head],
      module,
      ops: 0,
      bytes: 0,
      recomputationMs: 0,
    };
    group.ops += opsTogether(order, head).length;
    group.bytes += mspsMeta.memoryBytes[i];
    group.recomputationMs += mspsMeta.runtimeMs[i];
    groups.set(key, group.module === module ? group : { ...group, module: alike });
  }
  return [...groups.values()].sort((a, b) => b.bytes - a.bytes).slice(0, limit);
}
