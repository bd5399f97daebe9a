import { OpFlag } from "@remat/trace";
import type { Run, RunOp } from "./random-run.js";

/** SACStats as plain lists. */
export interface ReferenceStats {
  readonly funcNames: readonly string[];
  readonly runtimesMs: readonly number[];
  readonly memoryBytes: readonly number[];
  readonly viewLikeOps: readonly number[];
  readonly randOps: readonly number[];
  readonly savedAutogradOps: readonly number[];
  readonly inplaceOps: readonly (readonly [number, number])[];
  readonly forceStoreRandom: boolean;
}

interface Noted {
  readonly op: RunOp;
  readonly index: number;
  /** In-place parent by module. */
  readonly parents: ReadonlyMap<string, number>;
}

/**
 * The same statistics the slow way: each in-place op looks through all ops before it, each module keeps its own list, sets are sets.
 * The string "skipped parent" where upstream raises. Modules without ops have no statistics here.
 */
export function referenceStats(run: Run): Map<string, ReferenceStats> | "skipped parent" {
  const all: RunOp[] = [];
  const open = new Map<string, { start: number; leaf: boolean; tensorInput: boolean; ops: Noted[] }>();
  const saved = new Set<number>();
  const stats = new Map<string, ReferenceStats>();
  for (const step of run.steps) {
    if (step.kind === "enter")
      open.set(step.fqn, { start: all.length, leaf: step.leaf, tensorInput: step.tensorInput, ops: [] });
    else if (step.kind === "save") saved.add(step.storage);
    else if (step.kind === "op") {
      const index = all.length;
      all.push(step);
      if (step.backward) continue;
      const parents = new Map<string, number>();
      for (const [fqn, { start }] of open)
        parents.set(
          fqn,
          all.findIndex(
            (earlier, i) => i >= start && step.outputs.every((storage) => earlier.outputs.includes(storage)),
          ),
        );
      for (const { ops } of open.values()) ops.push({ op: step, index, parents });
    } else {
      const { leaf, tensorInput, ops } = open.get(step.fqn) as NonNullable<ReturnType<typeof open.get>>;
      open.delete(step.fqn);
      if (leaf) continue;
      const kept = ops.filter(({ op }) => !(op.flags & OpFlag.sacSkip));
      const inplaceOps = kept.flatMap(({ op, parents }, i) =>
        op.flags & OpFlag.inPlace ? [[i, kept.findIndex(({ index }) => index === parents.get(step.fqn))] as const] : [],
      );
      if (inplaceOps.some(([, parent]) => parent < 0)) return "skipped parent";
      const memoryBytes = kept.map(({ op }) =>
        op.flags & OpFlag.view
          ? 0
          : [...new Set(op.outputs)].reduce(
              (sum, storage) => sum + Math.ceil(run.storageBytes[storage] / 512) * 512,
              0,
            ),
      );
      const where = (test: (noted: Noted) => boolean): number[] => kept.flatMap((noted, i) => (test(noted) ? [i] : []));
      const viewLikeOps = where(({ op }) => (op.flags & OpFlag.view) !== 0);
      let last = kept.length - 1;
      for (const op of [...new Set([...viewLikeOps, ...inplaceOps.map(([i]) => i)])].sort((a, b) => b - a))
        if (op === last) last--;
      if (kept.length > 0) memoryBytes[last < 0 ? kept.length - 1 : last] = 0;
      stats.set(step.fqn, {
        funcNames: kept.map(({ op }) => op.name.split(".")[1]),
        runtimesMs: kept.map(({ op }) => op.runtimeMs),
        memoryBytes,
        viewLikeOps,
        randOps: where(({ op }) => (op.flags & OpFlag.random) !== 0),
        savedAutogradOps: where(({ op }) => op.outputs.every((storage) => saved.has(storage))),
        inplaceOps,
        forceStoreRandom: !tensorInput,
      });
    }
  }
  return stats;
}

/** The greedy order of {@link ReferenceStats} with sets and a sort. */
export function referenceOrder(stats: ReferenceStats): {
  readonly recomputed: readonly number[];
  readonly stored: readonly number[];
  readonly candidates: readonly {
    readonly op: number;
    readonly memory: number;
    readonly runtime: number;
    readonly msps: number;
  }[];
} {
  const groups = new Map<number, Set<number>>();
  for (const [op, head] of stats.inplaceOps) groups.set(head, (groups.get(head) ?? new Set([head])).add(op));
  const inPlace = new Set(stats.inplaceOps.map(([op]) => op));
  const random = new Set(stats.randOps);
  const randomHead = stats.randOps[0];
  const stored = new Set<number>();
  if (randomHead !== undefined && stats.forceStoreRandom) stored.add(randomHead);
  for (const [head, group] of groups) {
    const randomOps = [...group].filter((op) => random.has(op)).length;
    // Python's `force & len(...) > 0` looks at the lowest bit of the number.
    if (inPlace.has(head) || (stats.forceStoreRandom && randomOps % 2 === 1)) stored.add(head);
  }
  const recomputed = new Set(stats.viewLikeOps);
  const candidates = new Set([...groups.keys()].filter((head) => !stored.has(head)));
  if (randomHead !== undefined && !stored.has(randomHead)) candidates.add(randomHead);
  for (const op of stats.memoryBytes.keys())
    if (!recomputed.has(op) && !stored.has(op) && !inPlace.has(op) && !random.has(op)) candidates.add(op);
  const ascending = (set: Iterable<number>): number[] => [...set].sort((a, b) => a - b);
  return {
    recomputed: ascending(recomputed),
    stored: ascending(stored),
    candidates: ascending(candidates)
      .map((op) => {
        const ops = ascending(new Set([op, ...(groups.get(op) ?? []), ...(op === randomHead ? random : [])]));
        const memory = ops.reduce((sum, i) => sum + stats.memoryBytes[i], 0);
        const runtime = ops.reduce((sum, i) => sum + stats.runtimesMs[i], 0);
        return { op, memory, runtime, msps: runtime > 0 ? memory / runtime : Number.MAX_VALUE };
      })
      .sort((a, b) => b.msps - a.msps),
  };
}
