import type { OpDone, Storage } from "@remat/dispatch-hook";
import {
  formatOccurrence,
  isPlanNode,
  type Occurrence,
  Phase,
  type Plan,
  type PlanMismatch,
  type PlanStep,
  RematError,
} from "@remat/trace";
import type { Policy } from "../executor/executor.js";
import type { Ledger } from "../executor/ledger.js";
import type { Recipe, StoredBuffer } from "../executor/stored-data.js";
import { isAsPlanned, signatureOf } from "./planned-op.js";

/**
 * Follows a plan, op by op: after each step frees what it says, and recomputes what it says before the next.
 *
 * @internal
 */
export class PlanFollower implements Policy {
  mismatch: PlanMismatch | undefined;
  /** The plan's ops, in order. */
  readonly ops: readonly Occurrence[];
  /** Ops with which a forward pass begins; a step may have several. */
  private readonly passStarts: readonly number[];
  /** By op: 1 for the last of a pass. What is freed then outlives the pass, or goes with it. */
  private readonly isPassEnd: Uint8Array;
  /** By op, the step that is its first run, and the last that recomputes it (-1 for none). */
  private readonly stepOfOp: Int32Array;
  private readonly lastRecomputation: Int32Array;
  private passes = 0;
  private ledger!: Ledger;
  private op = 0;
  private step = 0;
  private isFollowing = false;
  private recipes: (Recipe | undefined)[] = [];
  /** What could be freed but for something else that depends on it. */
  private readonly waiting = new Set<StoredBuffer>();
  private hasNews = false;
  private isBackward = false;
  /** What JavaScript has made since the last op, and by source of the plan what it has proved to be. */
  private fills: Storage[] = [];
  private readonly sources: (StoredBuffer | undefined)[] = [];
  private readonly sourcesBefore = new Map<number, number[]>();
  private made: (readonly (StoredBuffer | undefined)[])[] = [];

  constructor(
    readonly plan: Plan,
    private readonly onMismatch: "refuse" | "store",
    /**
     * Whether what the plan has no more use for is evicted though nothing could recompute it, once the forward pass has been as planned. Otherwise
     * a step that leaves its plan in the backward pass goes on, too.
     */
    private readonly evictsForGood: boolean = true,
  ) {
    const ops = plan.ops.filter((op): op is Occurrence => !isPlanNode(op));
    this.ops = ops;
    this.passStarts =
      plan.passes ??
      ops.flatMap(({ phase }, op) =>
        phase === "forward" && (op === 0 || ops[op - 1].phase !== "forward") ? [op] : [],
      );
    this.isPassEnd = Uint8Array.from(ops, ({ phase }, op) => {
      const next = ops[op + 1]?.phase ?? "optimizer";
      return phase !== "optimizer" && (next === "optimizer" || (next === "forward" && phase !== "forward")) ? 1 : 0;
    });
    this.stepOfOp = new Int32Array(ops.length).fill(-1);
    this.lastRecomputation = new Int32Array(ops.length).fill(-1);
    plan.sources.forEach(({ before }, source) => {
      const others = this.sourcesBefore.get(before);
      if (others === undefined) this.sourcesBefore.set(before, [source]);
      else others.push(source);
    });
    plan.steps.forEach(({ op, isRecomputed }, step) => {
      if (isRecomputed) this.lastRecomputation[op] = step;
      else this.stepOfOp[op] = step;
    });
  }

  passStarting(ledger: Ledger): void {
    this.ledger = ledger;
    this.mismatch = undefined;
    this.recipes = [];
    this.made = [];
    this.op = this.passStarts[this.passes++ % this.passStarts.length] ?? 0;
    this.isFollowing = this.passStarts.length > 0;
    this.isBackward = false;
    this.waiting.clear();
    this.fills = [];
    this.sources.length = 0;
  }

  /** Whether a pass of the plan has such a first op. */
  beginsWith(op: OpDone): boolean {
    return this.passStarts.some((start) => isAsPlanned(op, this.ops[start]));
  }

  dataMade(storage: Storage): void {
    this.fills.push(storage);
  }

  passOver(): void {
    this.recipes = [];
    this.made = [];
    this.isFollowing = false;
  }

  opOver(op: OpDone, recipe: Recipe | undefined): void {
    if (!this.isFollowing) return;
    const index = this.op++;
    if (!isAsPlanned(op, this.ops[index])) {
      this.differ(index, op);
      return;
    }
    if (op.phase === Phase.backward) this.isBackward = true;
    if (recipe !== undefined) recipe.planned = index;
    this.recipes[index] = recipe;
    this.made[index] = op.outputs.map(({ dataId }) => this.ledger.get(dataId)?.buffer);
    this.nameSources(index);
    if (this.isPassEnd[index] === 1) return;
    const { steps } = this.plan;
    this.step = this.stepOfOp[index];
    this.free(steps[this.step]);
    for (let next = steps[++this.step]; next?.isRecomputed; next = steps[++this.step]) {
      this.recompute(this.recipes[next.op]);
      this.free(next);
    }
  }

  opComing(): void {
    // What had to wait for something else to become unused.
    if (this.waiting.size > 0 && this.hasNews) this.freeWaiting();
  }

  /** What no op has made is freed with its last tensor, unless a step to come needs it. */
  bufferUnused(buffer: StoredBuffer): void {
    this.hasNews = true;
    if (buffer.isEvicted) return;
    if (!this.isFollowing) {
      if (buffer.isEvictable) this.ledger.evict(buffer);
      return;
    }
    if (buffer.isEvictable) {
      if (buffer.data[0].maker?.constant !== undefined && !this.isNeeded(buffer)) this.ledger.evict(buffer);
    } else this.waiting.add(buffer);
  }

  replaying(): void {}

  private freeWaiting(): void {
    this.hasNews = false;
    for (const buffer of this.waiting) {
      if (buffer.isUsed || buffer.data.length === 0) this.waiting.delete(buffer);
      else if (!this.isNeeded(buffer) && this.ledger.free(buffer, this.isOver)) this.waiting.delete(buffer);
    }
  }

  /** Whether nobody reads again what is evicted: no step to come, nor, once the forward pass is over, anything else that is not in the plan. */
  private readonly isOver = (buffer: StoredBuffer): boolean =>
    this.isFollowing &&
    (!buffer.isUsed || (this.isBackward && this.evictsForGood)) &&
    !this.isRecomputedLater(buffer) &&
    !this.isNeeded(buffer);

  private isRecomputedLater({ data }: StoredBuffer): boolean {
    return data.some(
      ({ maker }) => maker !== undefined && maker.planned >= 0 && this.lastRecomputation[maker.planned] > this.step,
    );
  }

  private recompute(recipe: Recipe | undefined): void {
    // Nobody needs any more what it makes, or it is there.
    if (recipe?.outputs.some((data) => data?.needsReplay) !== true) return;
    for (const { buffer } of recipe.sources) if (buffer.isEvicted) this.ledger.recompute(buffer);
    this.ledger.replay(recipe);
    for (const { buffer } of recipe.sources) if (!buffer.isUsed && !buffer.isEvicted) this.bufferUnused(buffer);
    this.freeWaiting();
  }

  /** What the plan calls each of the storages that JavaScript made before the op; not known where they are not those of the plan. */
  private nameSources(op: number): void {
    const { fills } = this;
    if (fills.length === 0) return;
    this.fills = [];
    const planned = this.sourcesBefore.get(op);
    if (planned?.length !== fills.length) return;
    if (planned.some((source, i) => this.plan.sources[source].bytes !== fills[i].bytes)) return;
    planned.forEach((source, i) => (this.sources[source] = this.ledger.bufferOf(fills[i])));
  }

  private free({ free }: PlanStep): void {
    for (const value of free) {
      const buffer = "op" in value ? this.made[value.op]?.[value.output] : this.sources[value.source];
      if (buffer === undefined || buffer.isEvicted) continue;
      if (buffer.isEvictable) this.ledger.evict(buffer);
      else if (!buffer.isUsed) this.bufferUnused(buffer);
      else if (this.isOver(buffer)) this.ledger.evictForGood(buffer);
      this.hasNews = true;
    }
  }

  /** Whether a step to come recomputes what reads the buffer. */
  private isNeeded(buffer: StoredBuffer): boolean {
    for (const { readers } of buffer.data)
      for (const { planned, isView, outputs } of readers) {
        if (planned >= 0 && this.lastRecomputation[planned] > this.step) return true;
        if (isView) for (const view of outputs) if (view !== undefined && view.buffer !== buffer) return true;
      }
    return false;
  }

  private differ(op: number, found: OpDone): void {
    this.isFollowing = false;
    const planned: Occurrence | undefined = this.ops[op];
    const signature = signatureOf(found);
    this.mismatch = { op, planned, found: signature };
    if (this.onMismatch === "store") return;
    throw new RematError(
      "PLAN_MISMATCH",
      `op ${op} is not as in the plan for '${this.plan.subject.name}': expected ${planned === undefined ? "no more ops" : formatOccurrence(planned)}, found ${formatOccurrence(signature)}. Plan this model, loss and batch again, or pass { onMismatch: "store" } to go on without freeing anything more.`,
    );
  }
}
