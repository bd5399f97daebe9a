import { formatTable, pythonFixed, pythonFloat, pythonScientific } from "@remat/trace/text";
import { type GainOptions, GainsAlong } from "./gains-along.js";
import { opsTogether, type SACGreedyOrderMeta } from "./greedy-order.js";
import type { SACStats } from "./sac-stats.js";
import { share, sum } from "./trade-off.js";

/** Options of the displays. */
export interface DisplayOptions {
  /** True to print tables in reStructuredText. Default: columns separated by tabs. */
  readonly tabular?: boolean;
}

/** Options of `displayModulewiseSacStats`. */
export interface ModulewiseDisplayOptions extends DisplayOptions, GainOptions {
  /** Shows modules with at most this many name components. Default: 2. */
  readonly depth?: number;
}

/**
 * Returns a module's statistics in the format of PyTorch's `display_sac_stats`: totals, then a row for each op.
 *
 * @example
 * console.log(displaySacStats(stats, { tabular: true }));
 */
export function displaySacStats(stats: SACStats, options: DisplayOptions = {}): string {
  const isView = new Set(stats.viewLikeOps);
  const isRandom = new Set(stats.randOps);
  const isSaved = new Set(stats.savedAutogradOps);
  const parents = new Map(Array.from(stats.inplaceOps, (op, i) => [op, stats.inplaceParents[i]]));
  const rows = stats.funcNames.map((name, i) => [
    String(i),
    name,
    pythonFixed(stats.runtimesMs[i], 4),
    String(stats.memoryBytes[i]),
    pythonBool(isView.has(i)),
    pythonBool(isRandom.has(i)),
    pythonBool(isSaved.has(i)),
    String(parents.get(i) ?? "None"),
  ]);
  const title =
    `Total Memory: ${sum(stats.memoryBytes)} B Total Runtime: ${pythonTotal(stats.runtimesMs)} ms` +
    ` Store Random: ${pythonBool(stats.forceStoreRandom)}`;
  const headers = [
    "Op Idx",
    "Op Name",
    "Runtimes(ms)",
    "Memory (B)",
    "View-like",
    "Random",
    "Saved Autograd",
    "In-place",
  ];
  return `${title}\n${table(rows, headers, options)}`;
}

/**
 * Returns a module's trade-off in the format of PyTorch's `display_sac_tradeoff_stats`. It has a row for each group of
 * ops: first those that are always recomputed, then the candidates in greedy order, then those that are always stored.
 * Memory and time accumulate from row to row.
 *
 * Sets are printed in ascending order. Shares are 0 if the total memory or time is 0. An op in two groups counts with
 * the first group, or with both if `asPytorch` is set.
 *
 * @example
 * console.log(displaySacTradeoffStats(greedyOrder(stats), stats));
 */
export function displaySacTradeoffStats(
  order: SACGreedyOrderMeta,
  stats: SACStats,
  options: DisplayOptions & GainOptions = {},
): string {
  const memory = sum(stats.memoryBytes);
  const runtime = sum(stats.runtimesMs);
  const freed = new GainsAlong(stats, order, options);
  const rows: string[][] = [];
  const add = (op: number, kind: "stored" | "recomputed" | "candidate", msps?: number): void => {
    const ops = opsTogether(order, op);
    freed.add(op);
    const names = [...new Set(Array.from(ops, (member) => stats.funcNames[member]))].sort();
    rows.push([
      `{${ops.join(", ")}}`,
      `{${names.map((name) => `'${name}'`).join(", ")}}`,
      pythonFixed(share(freed.memoryBytes, memory), 4),
      String(freed.memoryBytes),
      pythonFixed(share(freed.runtimeMs, runtime), 4),
      pythonFloat(freed.runtimeMs),
      msps === undefined ? "nan" : pythonScientific(msps, 2),
      pythonBool(kind === "stored"),
      pythonBool(kind === "recomputed"),
    ]);
  };
  for (const op of order.recomputedOps) add(op, "recomputed");
  for (let i = 0; i < order.mspsMeta.count; i++) add(order.mspsMeta.opIdx[i], "candidate", order.mspsMeta.msps[i]);
  for (const op of order.storedOps) add(op, "stored");
  const headers = [
    "Op Id(s)",
    "Op Name(s)",
    "Discarded Mem (%)",
    "Discarded Mem (B)",
    "Recomp time (%)",
    "Recomp time (ms)",
    "MSPS",
    "Always Stored",
    "Always Recomputed",
  ];
  return table(rows, headers, options);
}

/**
 * Returns both displays for every module down to a depth, in the format of PyTorch's `display_modulewise_sac_stats`.
 *
 * @example
 * const stats = sacStats(trace);
 * const orders = new Map(Array.from(stats, ([fqn, one]) => [fqn, greedyOrder(one)]));
 * console.log(displayModulewiseSacStats(stats, orders, { depth: 2, tabular: true }));
 */
export function displayModulewiseSacStats(
  stats: ReadonlyMap<string, SACStats>,
  orders: ReadonlyMap<string, SACGreedyOrderMeta>,
  options: ModulewiseDisplayOptions = {},
): string {
  const texts: string[] = [];
  for (const [fqn, moduleStats] of stats) {
    const order = orders.get(fqn);
    if (order === undefined || fqn.split(".").length > (options.depth ?? 2)) continue;
    texts.push(
      `Module: ${fqn}`,
      displaySacStats(moduleStats, options),
      `AC Trade-off for Module: ${fqn} MSPS = Memory/Runtime`,
      displaySacTradeoffStats(order, moduleStats, options),
    );
  }
  return texts.join("\n");
}

function table(rows: readonly (readonly string[])[], headers: readonly string[], options: DisplayOptions): string {
  return formatTable(rows, { headers, format: options.tabular ? "rst" : "plain" });
}

/** Python's sum of an empty list is the integer 0. */
function pythonTotal(values: Float64Array): string {
  return values.length === 0 ? "0" : pythonFloat(sum(values));
}

function pythonBool(value: boolean): string {
  return value ? "True" : "False";
}
