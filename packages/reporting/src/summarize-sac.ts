import { type HeldPeak, heldByModule, heldPeak, tellsLifetimes } from "@remat/memory";
import { moduleRuntimes, type StepTimes, stepTimes } from "@remat/runtime-estimator";
import {
  type GainOptions,
  greedyOrder,
  type SACGreedyOrderMeta,
  type SACStats,
  type SACStatsOptions,
  type SACTradeOffStats,
  sacStats,
  tradeOff,
} from "@remat/sac-core";
import { RematError, type Trace } from "@remat/trace";
import { savedOnce } from "./saved-once.js";

/** Shares of a module's memory for which {@link ModuleSacSummary.recomputeShare} gives the cost. */
export const freedShares: readonly number[] = [0.25, 0.5, 0.75, 1];

/** The memory that one module could free, and the cost of freeing it. */
export interface ModuleSacSummary {
  /** Fully qualified name. */
  readonly fqn: string;
  /** Class of the module. */
  readonly kind: string;
  /** 1 for the outermost modules. */
  readonly depth: number;
  /** Number of calls in the trace. */
  readonly calls: number;
  readonly opCount: number;
  /** Results of all its ops, except views and the module's own output. */
  readonly memoryBytes: number;
  /**
   * Memory of the module at the step's peak, including weights and gradients, or undefined if the trace does not record
   * lifetimes.
   */
  readonly heldBytes: number | undefined;
  /**
   * The part of `memoryBytes` that autograd saves for the backward pass. A storage counts once. With `asPytorch`, it
   * counts once for each op that has it as its result.
   */
  readonly savedBytes: number;
  /** Time of the ops counted here: one forward pass of the last call. */
  readonly runtimeMs: number;
  /** Forward time over all calls and all ops of the trace. */
  readonly forwardMs: number;
  /** Backward time over all calls and all ops of the trace. */
  readonly backwardMs: number;
  /**
   * For each of {@link freedShares}, the least recomputation along the greedy order that frees that share of the
   * memory. It is relative to `runtimeMs`.
   */
  readonly recomputeShare: readonly number[];
  readonly stats: SACStats;
  readonly greedyOrder: SACGreedyOrderMeta;
  readonly tradeOff: SACTradeOffStats;
}

/** The statistics of a run, ready to be shown. */
export interface SacSummary {
  readonly trace: Trace;
  /** Peak memory of the step, or undefined if the trace does not record lifetimes. */
  readonly peak: HeldPeak | undefined;
  /** The device that times are estimated for, if it is not the trace's own. */
  readonly pricedFor: string | undefined;
  /** Maximum depth of the modules below. Infinity for all. */
  readonly maxDepth: number;
  /** True if groups and errors are the same as in PyTorch. See `asPytorch` of `@remat/sac-core`. */
  readonly asPytorch: boolean;
  readonly opCount: number;
  readonly times: StepTimes;
  /** Modules with children, outermost first. */
  readonly modules: readonly ModuleSacSummary[];
}

/** Options of {@link summarizeSac}. */
export interface SummarizeSacOptions extends SACStatsOptions, GainOptions {
  /** Modules deeper than this are left out (2 by default). */
  readonly depth?: number | undefined;
  /** Includes only this module, at any depth. */
  readonly module?: string | undefined;
  /** Number of pieces to fit to each trade-off curve (2 by default). */
  readonly nSegments?: number | undefined;
  /**
   * Statistics and orders of this trace by module, if they are already computed, as in `SACEstimator`. By default they
   * are computed.
   */
  readonly estimates?: {
    readonly sacModStats: ReadonlyMap<string, SACStats>;
    readonly sacModGreedyOrderMeta: ReadonlyMap<string, SACGreedyOrderMeta>;
  };
  /** Name of the device or method that the milliseconds come from. */
  readonly pricedFor?: string | undefined;
}

/**
 * Computes how much memory each module of a trace with op times could free, and how long recomputing it would take.
 *
 * @throws RematError `MODULE_UNKNOWN` if a module does not exist or has no children; the message names similar ones
 * @example
 * const summary = summarizeSac(priceTrace(trace, deviceSpec("a100")), { depth: 2 });
 * console.log(writeDocument(sacDocument(summary), "table"));
 */
export function summarizeSac(trace: Trace, options: SummarizeSacOptions = {}): SacSummary {
  const maxDepth = options.depth ?? 2;
  const asPytorch = options.asPytorch ?? false;
  const { modRuntimes } = moduleRuntimes(trace);
  const stats = options.estimates?.sacModStats ?? sacStats(trace, options);
  if (options.module !== undefined && !stats.has(options.module)) throw unknownModule(options.module, trace, stats);
  const calls = callsByModule(trace);
  const peak = tellsLifetimes(trace) ? heldPeak(trace) : undefined;
  const held = peak && heldByModule(trace, peak);
  const modules: ModuleSacSummary[] = [];
  for (const [fqn, moduleStats] of stats) {
    const depth = fqn.split(".").length;
    if (options.module === undefined ? depth > maxDepth : fqn !== options.module) continue;
    const order = options.estimates?.sacModGreedyOrderMeta.get(fqn) ?? greedyOrder(moduleStats);
    const curve = tradeOff(moduleStats, order, { nSegments: options.nSegments ?? 2, asPytorch });
    const runtimes = modRuntimes.get(fqn);
    modules.push({
      fqn,
      kind: calls.get(fqn)?.kind ?? "",
      depth,
      calls: calls.get(fqn)?.count ?? 0,
      opCount: moduleStats.ops.length,
      memoryBytes: curve.sacMemoryBytes,
      heldBytes: held && (held.get(fqn) ?? 0),
      savedBytes: sumBytes(moduleStats, asPytorch ? moduleStats.savedAutogradOps : savedOnce(trace, moduleStats)),
      runtimeMs: curve.sacRuntimeMs,
      forwardMs: runtimes?.forwardMs ?? 0,
      backwardMs: runtimes?.backwardMs ?? 0,
      recomputeShare: freedShares.map((share) => recomputeShare(curve, share)),
      stats: moduleStats,
      greedyOrder: order,
      tradeOff: curve,
    });
  }
  const place = executionOrder(trace);
  modules.sort((a, b) => (place.get(a.fqn) ?? 0) - (place.get(b.fqn) ?? 0));
  return {
    trace,
    peak,
    pricedFor: options.pricedFor,
    maxDepth,
    asPytorch,
    opCount: trace.ops.count,
    times: stepTimes(trace),
    modules,
  };
}

function sumBytes({ memoryBytes }: SACStats, places: Iterable<number>): number {
  let sum = 0;
  for (const place of places) sum += memoryBytes[place];
  return sum;
}

/**
 * Returns the recomputation, relative to the forward time, at the first point of the curve that frees `share` of the
 * memory.
 */
function recomputeShare(
  { tradeoffCurve: { discardedMemory, recomputationTime } }: SACTradeOffStats,
  share: number,
): number {
  // The curve's memory axis is shifted by 0.01. Shares are sums of quotients, so they need a tolerance.
  const at = discardedMemory.findIndex((memory) => memory - 0.01 >= share - 1e-9);
  return recomputationTime[at < 0 ? recomputationTime.length - 1 : at];
}

function callsByModule(trace: Trace): Map<string, { count: number; kind: string }> {
  const calls = new Map<string, { count: number; kind: string }>();
  for (const { fqn, kind } of trace.modules) if (!calls.has(fqn)) calls.set(fqn, { count: 0, kind });
  for (let call = 0; call < trace.calls.count; call++) {
    const known = calls.get(trace.modules[trace.calls.module[call]].fqn);
    if (known !== undefined) known.count++;
  }
  return calls;
}

/** Returns, for each name, the position of the module's first call. A module thus comes before its submodules. */
function executionOrder(trace: Trace): Map<string, number> {
  const place = new Map<string, number>();
  for (let call = 0; call < trace.calls.count; call++) {
    const { fqn } = trace.modules[trace.calls.module[call]];
    if (!place.has(fqn)) place.set(fqn, call);
  }
  return place;
}

function unknownModule(fqn: string, trace: Trace, stats: ReadonlyMap<string, SACStats>): RematError {
  const known = [...stats.keys()];
  const leaf = trace.modules.find((module) => module.fqn === fqn);
  if (leaf !== undefined)
    return new RematError(
      "MODULE_UNKNOWN",
      `module ${fqn} (${leaf.kind}) contains no modules, so it has no statistics. Name one of ${list(known)}.`,
    );
  const near = known.filter((name) => name.includes(fqn) || fqn.startsWith(name));
  return new RematError(
    "MODULE_UNKNOWN",
    `unknown module ${fqn}. Name one of ${list(near.length > 0 ? near : known)}.`,
  );
}

function list(names: readonly string[]): string {
  return names.length > 6 ? `${names.slice(0, 6).join(", ")} and ${names.length - 6} more` : names.join(", ");
}
