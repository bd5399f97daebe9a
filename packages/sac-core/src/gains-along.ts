import { opsTogether, type SACGreedyOrderMeta } from "./greedy-order.js";
import type { SACStats } from "./sac-stats.js";

/** How ops in two groups count. */
export interface GainOptions {
  /**
   * True if an op in two groups, such as a random op that is in-place, counts with both, as in PyTorch. Memory and time
   * then add up to more than the total. Default: false. Such an op then counts once, with its first group.
   */
  readonly asPytorch?: boolean;
}

/** Memory and recomputation time gained so far by freeing results of ops in turn, together with their groups. */
export class GainsAlong {
  private readonly stats: SACStats;
  private readonly order: SACGreedyOrderMeta;
  memoryBytes = 0;
  runtimeMs = 0;
  private readonly counted: Uint8Array;
  private readonly isHead: Uint8Array;
  private readonly countsTwice: boolean;

  constructor(stats: SACStats, order: SACGreedyOrderMeta, { asPytorch = false }: GainOptions) {
    this.stats = stats;
    this.order = order;
    this.counted = new Uint8Array(stats.memoryBytes.length);
    this.isHead = new Uint8Array(stats.memoryBytes.length);
    this.countsTwice = asPytorch;
    for (const { heads } of [order.inplaceOpGroups, order.randomOpsGroup])
      for (let i = 0; i < heads.length; i++) this.isHead[heads[i]] = 1;
  }

  /** Frees the results of one op. Most ops are alone, and there may be a million. */
  add(op: number): void {
    if (this.isHead[op] === 1) this.addGroup(opsTogether(this.order, op));
    else if (this.counted[op] === 0 || this.countsTwice) {
      this.counted[op] = 1;
      this.memoryBytes += this.stats.memoryBytes[op];
      this.runtimeMs += this.stats.runtimesMs[op];
    }
  }

  /** Frees the results of several ops at once. */
  addAll(heads: Int32Array): void {
    const isAsked = new Uint8Array(this.counted.length);
    let count = 0;
    const ask = (op: number): void => {
      count += 1 - isAsked[op];
      isAsked[op] = 1;
    };
    for (let i = 0; i < heads.length; i++) {
      if (this.isHead[heads[i]] === 1) opsTogether(this.order, heads[i]).forEach(ask);
      else ask(heads[i]);
    }
    const ops = new Int32Array(count);
    for (let op = 0, at = 0; at < count; op++) if (isAsked[op] === 1) ops[at++] = op;
    this.addGroup(ops);
  }

  private addGroup(ops: Int32Array): void {
    let memoryBytes = 0;
    let runtimeMs = 0;
    for (let i = 0; i < ops.length; i++) {
      const op = ops[i];
      if (this.counted[op] === 1 && !this.countsTwice) continue;
      this.counted[op] = 1;
      memoryBytes += this.stats.memoryBytes[op];
      runtimeMs += this.stats.runtimesMs[op];
    }
    this.memoryBytes += memoryBytes;
    this.runtimeMs += runtimeMs;
  }
}
