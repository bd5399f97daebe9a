import { Phase } from "@remat/trace";
import type { Recipe, StoredBuffer } from "../executor/stored-data.js";
import type { OpSequence } from "./op-sequence.js";
import type { PlanScript } from "./plan-script.js";

/**
 * Of which ops of a plan the ledger has to know. The first time that a pass follows it that is of every one; from then on only of those of the forward pass, which a step may leave and
 * keep its budget all the same, of those that are recomputed or offloaded, and of what the first time has evicted under living tensors, with what recomputing that takes. All else goes
 * with its last tensor, and as long as it is there nothing has to recompute it.
 *
 * @internal
 */
export class NotedOps {
  private readonly isMarked: Uint8Array;
  /** The ops with which passes begin that have been followed to their end. */
  private readonly learned = new Set<number>();
  private isLearning = true;

  constructor({ count, phase }: OpSequence, script: PlanScript) {
    this.isMarked = new Uint8Array(count);
    for (let op = 0; op < count; op++) if (phase[op] === Phase.forward) this.isMarked[op] = 1;
    for (let step = 0; step < script.op.length; step++)
      if (script.isRecomputed[step] === 1) this.isMarked[script.op[step]] = 1;
    // What is offloaded must be known, whoever made it.
    if (script.offloaded.values.length === 0) return;
    const offloaded = new Set(script.offloaded.values);
    const { start } = script.values;
    for (let op = 0; op < count; op++)
      for (let value = start[op]; value < start[op + 1]; value++) if (offloaded.has(value)) this.isMarked[op] = 1;
  }

  passStarting(start: number): void {
    this.isLearning = !this.learned.has(start);
  }

  /** A pass has been as planned to its end. */
  passFollowed(start: number): void {
    this.learned.add(start);
  }

  has(op: number): boolean {
    return this.isLearning || this.isMarked[op] === 1;
  }

  /** An op has run that made nothing new, or what nothing can recompute. */
  opWithoutRecipe(op: number): void {
    if (this.isLearning) this.isMarked[op] = 1;
  }

  /** A buffer is about to be evicted: what a tensor lives in, or what recomputing such takes, may have to be recomputed. */
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

/** What has been evicted since no tensor lives in it. */
const evictedSources = ({ sources }: Recipe): StoredBuffer[] =>
  sources.map(({ buffer }) => buffer).filter((buffer) => buffer.isEvicted && !buffer.isUsed);
