import { pyTorchDevice, readPyTorchTrace } from "@remat/pytorch";
import { priceTrace } from "@remat/runtime-estimator";
import type { Golden } from "@remat/testkit";
import { RematError } from "@remat/trace";
import {
  displayModulewiseSacStats,
  greedyOrder,
  opsTogether,
  type SACGreedyOrderMeta,
  type SACStats,
  sacStats,
  tradeOff,
} from "../src/index.js";
import { fitDifference, givenFitDifference, residualOf } from "./compare-pwlf-golden.js";
import { eventsDifference } from "./compare-sac-events.js";
import { compareText } from "./compare-sac-text.js";
import { firstDifference, listDifference, near, timesDifference } from "./numbers-agree.js";
import type { GoldenOrder, GoldenStats, GoldenTradeOff, SacResults } from "./sac-golden-types.js";

/**
 * A `sac-oracle/1` file against what we compute from its events: the first difference, with both sides, or `undefined`. Statistics, greedy
 * order, trade-off and printed tables of every module; integers, names and flags exactly, times to 1e-12. Equal MSPS may come in another
 * order, since upstream takes them from a set.
 */
export function compareSacGolden(golden: Golden): string | undefined {
  const { results, error } = golden as Golden & { results: SacResults; error: { msg: string } | null };
  const trace = priceTrace(readPyTorchTrace(golden), pyTorchDevice(golden), { asPytorch: true });
  const noted = eventsDifference(golden, trace);
  if (noted !== undefined) return noted;
  let stats: Map<string, SACStats>;
  let hasRaised = false;
  try {
    stats = sacStats(trace, { asPytorch: true });
  } catch (thrown) {
    // For a module with an in-place op on the result of a skipped op, upstream raises and has no statistics.
    const expected = error?.msg.startsWith("The remapping of inplace ops failed") === true;
    const found = thrown instanceof RematError && thrown.code === "SAC_SKIPPED_PARENT";
    if (!expected || !found) return `error: ${error?.msg ?? "none"}, ours ${String(thrown)}`;
    // It has those of the modules that were done before; ours go on.
    stats = new Map([...sacStats(trace)].filter(([fqn]) => fqn in results.stats));
    if (stats.size === 0) return listDifference("modules", Object.keys(results.stats), []);
    hasRaised = true;
  }
  if (!hasRaised && error?.msg.startsWith("The remapping of inplace ops failed"))
    return `error: ${error.msg}, ours none`;
  // For a module without ops upstream raises, while remat has empty lists.
  for (const [fqn, one] of stats) if (one.ops.length === 0 && !(fqn in results.stats)) stats.delete(fqn);
  const orders = new Map(Array.from(stats, ([fqn, one]) => [fqn, greedyOrder(one)]));
  return firstDifference(
    () => listDifference("modules", Object.keys(results.stats), [...stats.keys()]),
    () => listDifference("modules of greedy", Object.keys(results.greedy), [...stats.keys()]),
    () => listDifference("modules of tradeoff", Object.keys(results.tradeoff_n_segments_2), [...stats.keys()]),
    ...Array.from(stats, ([fqn, one]) => () => {
      const order = orders.get(fqn) as SACGreedyOrderMeta;
      const difference = firstDifference(
        () => statsDifference(results.stats[fqn], one),
        () => orderDifference(results.greedy[fqn], one, order),
        () => {
          orders.set(fqn, withOrderOfTies(order, results.greedy[fqn]));
          return tradeOffDifference(results.tradeoff_n_segments_2[fqn], one, orders.get(fqn) as SACGreedyOrderMeta);
        },
      );
      return difference === undefined ? undefined : `${fqn}: ${difference}`;
    }),
    ...(["plain", "tabular"] as const).map((format) => () => {
      const options = { depth: results.text.depth, tabular: format === "tabular", asPytorch: true };
      const difference = compareText(
        results.text[format],
        displayModulewiseSacStats(stats, orders, options),
        options.tabular,
      );
      return difference === undefined ? undefined : `text.${format}: ${difference}`;
    }),
  );
}

function statsDifference(expected: GoldenStats, found: SACStats): string | undefined {
  return firstDifference(
    () => listDifference("func_names", expected.func_names, found.funcNames),
    () => timesDifference("runtimes", expected.runtimes, found.runtimesMs),
    () => listDifference("memory", expected.memory, found.memoryBytes),
    () => listDifference("view_like_ops", expected.view_like_ops, found.viewLikeOps),
    () => listDifference("rand_ops", expected.rand_ops, found.randOps),
    () => listDifference("saved_autograd_ops", expected.saved_autograd_ops, found.savedAutogradOps),
    () => listDifference("inplace_ops", expected.inplace_ops.flat(), pairs(found.inplaceOps, found.inplaceParents)),
    () => listDifference("force_store_random", [expected.force_store_random], [found.forceStoreRandom]),
  );
}

const pairs = (a: Int32Array, b: Int32Array): number[] => Array.from(a).flatMap((value, i) => [value, b[i]]);
const ascending = (values: Iterable<number>): number[] => [...values].sort((a, b) => a - b);
const groupsOf = (groups: Readonly<Record<string, readonly number[]>>): string[] =>
  Object.entries(groups)
    .sort(([a], [b]) => Number(a) - Number(b))
    .map(([head, ops]) => `${head}: ${ascending(ops)}`);

function orderDifference(expected: GoldenOrder, stats: SACStats, found: SACGreedyOrderMeta): string | undefined {
  const printed = (groups: SACGreedyOrderMeta["inplaceOpGroups"]) =>
    Array.from(groups, ([head, ops]) => `${head}: ${ops}`);
  return firstDifference(
    () => listDifference("recomputed_ops", ascending(expected.recomputed_ops), found.recomputedOps),
    () => listDifference("stored_ops", ascending(expected.stored_ops), found.storedOps),
    () => listDifference("inplace_op_groups", groupsOf(expected.inplace_op_groups), printed(found.inplaceOpGroups)),
    () => listDifference("random_ops_group", groupsOf(expected.random_ops_group), printed(found.randomOpsGroup)),
    () => candidatesDifference(expected, stats, found),
  );
}

/** Runs of candidates of equal MSPS must hold the same ops, ours in ascending order. */
function candidatesDifference(expected: GoldenOrder, stats: SACStats, found: SACGreedyOrderMeta): string | undefined {
  const theirs = expected.msps_meta;
  const ours = found.mspsMeta;
  if (theirs.length !== ours.count) return `msps_meta: ${theirs.length} items, ours ${ours.count}`;
  for (let start = 0; start < theirs.length; ) {
    let end = start + 1;
    while (end < theirs.length && near(theirs[start].msps, theirs[end].msps)) end++;
    const run = theirs.slice(start, end).sort((a, b) => a.op_idx - b.op_idx);
    const ourRun = ascending(ours.opIdx.subarray(start, end));
    for (const [i, candidate] of run.entries()) {
      const at = ours.opIdx.indexOf(ourRun[i]);
      const names = [...new Set(Array.from(opsTogether(found, ourRun[i]), (op) => stats.funcNames[op]))].sort();
      const difference = firstDifference(
        () => listDifference("op_idx", [candidate.op_idx], [ourRun[i]]),
        () => listDifference("memory", [candidate.memory], [ours.memoryBytes[at]]),
        () => timesDifference("runtime", [candidate.runtime], [ours.runtimeMs[at]]),
        () => timesDifference("msps", [candidate.msps], [ours.msps[at]]),
        () => listDifference("func_names", [...candidate.func_names].sort(), names),
      );
      if (difference !== undefined) return `msps_meta[${start + i}].${difference}`;
    }
    for (let i = start + 1; i < end; i++)
      if (ours.msps[i - 1] === ours.msps[i] && ours.opIdx[i - 1] > ours.opIdx[i])
        return `msps_meta[${i}]: equal MSPS in ascending order, ours ${ours.opIdx[i - 1]} before ${ours.opIdx[i]}`;
    start = end;
  }
  return undefined;
}

/** Our candidates with those of equal MSPS in the golden's order, so that what adds up along the order can be compared row by row. */
function withOrderOfTies(order: SACGreedyOrderMeta, golden: GoldenOrder): SACGreedyOrderMeta {
  const { mspsMeta } = order;
  const at = Int32Array.from(golden.msps_meta, ({ op_idx }) => mspsMeta.opIdx.indexOf(op_idx));
  return {
    ...order,
    mspsMeta: {
      count: mspsMeta.count,
      opIdx: at.map((i) => mspsMeta.opIdx[i]),
      memoryBytes: Float64Array.from(at, (i) => mspsMeta.memoryBytes[i]),
      runtimeMs: Float64Array.from(at, (i) => mspsMeta.runtimeMs[i]),
      msps: Float64Array.from(at, (i) => mspsMeta.msps[i]),
    },
  };
}

function tradeOffDifference(
  expected: GoldenTradeOff | { readonly error: string },
  stats: SACStats,
  order: SACGreedyOrderMeta,
): string | undefined {
  const found = tradeOff(stats, order, { nSegments: 2, asPytorch: true });
  const { tradeoffCurve: curve } = found;
  const numbers = [
    ...found.slopes,
    ...found.intercepts,
    ...found.fitBreaks,
    ...curve.discardedMemory,
    ...curve.recomputationTime,
  ];
  if (!numbers.every(Number.isFinite)) return `tradeoff: ours has a number that is not finite: ${numbers}`;
  // Without memory upstream divides by zero; ours only has to answer.
  if ("error" in expected) {
    const isZero = expected.error.startsWith("ZeroDivisionError") && found.sacMemoryBytes === 0;
    return isZero ? undefined : `tradeoff: ${expected.error}, ours none`;
  }
  const x = curve.discardedMemory.subarray(0, -1);
  const y = curve.recomputationTime.subarray(1);
  return firstDifference(
    () => listDifference("sac_memory", [expected.sac_memory], [found.sacMemoryBytes]),
    () => timesDifference("sac_runtime", [expected.sac_runtime], [found.sacRuntimeMs]),
    () =>
      timesDifference(
        "tradeoff_curve x",
        expected.tradeoff_curve.map(([at]) => at),
        curve.discardedMemory,
      ),
    () =>
      timesDifference(
        "tradeoff_curve y",
        expected.tradeoff_curve.map(([, value]) => value),
        curve.recomputationTime,
      ),
    () => timesDifference("fit_x", expected.fit_x, x),
    () => timesDifference("fit_y", expected.fit_y, y),
    () => listDifference("n_segments", [expected.n_segments], [found.nSegments]),
    () => timesDifference("ends of fit_breaks", ends(expected.fit_breaks), ends(found.fitBreaks)),
    () => fitDifference("fit", expected.fit_x, expected.fit_y, expected.n_segments, [expected.fit_ssr]),
    () =>
      near(residualOf(found, x, y) + 1, found.fitResidual + 1)
        ? undefined
        : `fit: our residual ${found.fitResidual}, of the line ${residualOf(found, x, y)}`,
    () => givenFitDifference("fit", { ...expected, x: expected.fit_x, y: expected.fit_y, ssr: expected.fit_ssr }),
  );
}

const ends = (values: readonly number[]): number[] => [values[0], values[values.length - 1]];
