import type { OpIndex } from "@remat/trace";
import type { OutputStorages } from "./output-storages.js";

/** Ops found so far whose results are in every storage of a set, ascending. */
interface Matches {
  readonly ops: number[];
  /** Position up to which the shortest list of ops has been searched. */
  looked: number;
}

/**
 * Finds the op whose result an in-place op modifies: the first op, from a given one on, whose storages include all
 * storages of the in-place op. It searches sorted lists of ops by storage. PyTorch instead scans all earlier ops.
 */
export class InPlaceParents {
  private readonly outputs: OutputStorages;
  private readonly bySet = new Map<string, Matches>();

  constructor(outputs: OutputStorages) {
    this.outputs = outputs;
  }

  /**
   * Returns the parent of `op`: the first op, from `first` on, whose storages include all storages of `op`. If no
   * earlier op matches, `op` writes to an argument, and is its own parent.
   */
  find(op: OpIndex, first: number): number {
    const { opStart, storages, storageStart, ops } = this.outputs;
    const count = opStart[op + 1] - opStart[op];
    // An op without results has no storages, so every op matches, and the first one is the parent.
    if (count === 0) return Math.min(first, op);
    if (count > 1) return this.findAll(op, first);
    const storage = storages[opStart[op]];
    return ops[lowerBound(ops, first, storageStart[storage], storageStart[storage + 1])];
  }

  private findAll(op: OpIndex, first: number): number {
    const { opStart, storages, storageStart, ops } = this.outputs;
    const wanted = storages.slice(opStart[op], opStart[op + 1]).sort();
    let rarest = wanted[0];
    const uses = (s: number): number => storageStart[s + 1] - storageStart[s];
    for (const storage of wanted) if (uses(storage) < uses(rarest)) rarest = storage;
    const key = wanted.join();
    let matches = this.bySet.get(key);
    if (matches === undefined) this.bySet.set(key, (matches = { ops: [], looked: storageStart[rarest] }));
    for (; matches.looked < storageStart[rarest + 1] && ops[matches.looked] <= op; matches.looked++)
      if (this.hasAll(ops[matches.looked], wanted)) matches.ops.push(ops[matches.looked]);
    return matches.ops[lowerBound(matches.ops, first, 0, matches.ops.length)];
  }

  private hasAll(op: OpIndex, wanted: Int32Array): boolean {
    const { opStart, storages } = this.outputs;
    for (const storage of wanted) {
      const at = storages.indexOf(storage, opStart[op]);
      if (at < 0 || at >= opStart[op + 1]) return false;
    }
    return true;
  }
}

/** Index of the first item of `sorted` from `low` to `high` that is at least `value`. */
function lowerBound(sorted: ArrayLike<number>, value: number, low: number, high: number): number {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
