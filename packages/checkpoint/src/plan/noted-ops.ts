import { Phase } from "@remat/trace";
import type { Recipe, StoredBuffer } from "../executor/stored-data.js";
import type { OpSequence } from "./op-sequence.js";
import type { PlanScript } from "./plan-script.js";

/**
 * Decides which ops of a plan the ledger has to record. The first pass that follows the plan records every op. Later
 * passes record only
 *
 * - ops of the forward pass, if a step may leave the plan there and must still meet its budget,
 * - ops that are recomputed or offloaded,
 * - data that the first pass evicted under living tensors, and the inputs for recomputing it.
 *
 * All other data is freed with its last tensor, and nothing has to recompute it before that.
 *
 * @internal
 */
export class NotedOps {
  private readonly isMarked: Uint8Array;
  /** First ops of passes that have been followed to their end. */
  private readonly learned = new Set<number>();
  private isLearning = true;

  /** @param canLeave true if a step that leaves the plan in its forward pass continues */
  constructor({ count, phase }: OpSequence, script: PlanScript, canLeave: boolean) {
    this.isMarked = new Uint8Array(count);
    for (let op = 0; op < count; op++) if (canLeave && phase[op] === Phase.forward) this.isMarked[op] = 1;
    for (let step = 0; step < script.op.length; step++)
      if (script.isRecomputed[step] === 1) this.isMarked[script.op[step]] = 1;
    // Offloaded data must be known, whichever op made it.
    if (script.offloaded.values.length === 0) return;
    const offloaded = new Set(script.offloaded.values);
    const { start } = script.values;
    for (let op = 0; op < count; op++)
      for (let value = start[op]; value < start[op + 1]; value++) if (offloaded.has(value)) this.isMarked[op] = 1;
  }

  passStarting(start: number): void {
    this.isLearning = !this.learned.has(start);
  }

  /** A pass went as planned to its end. */
  passFollowed(start: number): void {
    this.learned.add(start);
  }

  has(op: number): boolean {
    return this.isLearning || this.isMarked[op] === 1;
  }

  /** An op made nothing new, or nothing that can be recomputed. */
  opWithoutRecipe(op: number): void {
    if (this.isLearning) this.isMarked[op] = 1;
  }

  /** A buffer is about to be evicted. If a tensor uses it, or recomputation needs it, it may have to be recomputed. */
  evicting(buffer: StoredBuffer): void {
    if (this.isLearning && (buffer.isUsed || this.isReadByMarked(buffer))) this.mark(buffer);
  }

  private isReadByMarked({ data }: StoredBuffer): boolean {
    return data.some(({ readers }) => readers.some(({ planned }) => this.isMarked[planned] === 1));
  }

  private mark(buffer: StoredBuffer): void {
    const way = [buffer];
    for (let next = way.pop(); next !== undefined; next = way.pop())
      for (const { maker } of next.data) {
        if (maker === undefined || this.isMarked[maker.planned] !== 0) continue;
        this.isMarked[maker.planned] = 1;
        way.push(...evictedSources(maker));
      }
  }
}

/** Sources that were evicted because no tensor uses them. */
const evictedSources = ({ sources }: Recipe): StoredBuffer[] =>
  sources.map(({ buffer }) => buffer).filter((buffer) => buffer.isEvicted && !buffer.isUsed);
