import type { OpDone, Storage } from "@remat/dispatch-hook";
import { type OpSignature, Phase, phaseNames } from "@remat/trace";
import type { Policy } from "../executor/executor.js";
import type { Ledger } from "../executor/ledger.js";
import type { Recipe, StoredBuffer } from "../executor/stored-data.js";
import { NotedOps } from "./noted-ops.js";
import { isOpAt, type OpSequence } from "./op-sequence.js";
import type { PlanScript } from "./plan-script.js";

/** The op at which a step left its plan. @internal */
export interface LeftPlan {
  /** Index of the op. */
  readonly op: number;
  readonly found: OpSignature;
}

/** Options of `PlanFollower`. @internal */
export interface PlanFollowerOptions {
  /** Called when a step leaves the plan, to reject it. Default: the step continues, and nothing more is freed. */
  readonly onLeft?: ((left: LeftPlan) => never) | undefined;
  /**
   * True to evict data that the plan no longer needs but that cannot be recomputed, once the forward pass went as
   * planned. Default: false, so that a step can leave its plan in the backward pass as well.
   */
  readonly evictsForGood?: boolean;
}

/**
 * Follows a plan op by op. After each step it frees, offloads and reloads data as planned, and before the next step it
 * recomputes.
 *
 * @internal
 */
export class PlanFollower implements Policy {
  readonly ops: OpSequence;
  private readonly script: PlanScript;
  private readonly options: PlanFollowerOptions;
  left: LeftPlan | undefined;
  /**
   * 1 for each op that is the last of a pass. Nothing is freed after it: its data outlives the pass, or is freed at the
   * end of the pass.
   */
  private readonly isPassEnd: Uint8Array;
  /** For each op, the step that first runs it. */
  private readonly stepOfOp: Int32Array;
  /** For each op, the last step that recomputes it, or -1. */
  private readonly lastRecomputation: Int32Array;
  private readonly noted: NotedOps;
  private passes = 0;
  private ledger!: Ledger;
  private op = 0;
  /** First op of the pass. */
  private start = 0;
  private step = 0;
  private isFollowing = false;
  /** Recipe of each op that is recomputed. */
  private readonly recipes: (Recipe | undefined)[];
  /** Buffers that cannot be freed yet because other data depends on them. */
  private readonly waiting = new Set<StoredBuffer>();
  private hasNews = false;
  private isBackward = false;
  /** Storages that JavaScript made since the last op. */
  private readonly fills: Storage[] = [];
  /** Buffer of each source of the plan, once identified. */
  private readonly sources: (StoredBuffer | undefined)[];
  /** Buffer of each value that a step frees. */
  private readonly made: (StoredBuffer | undefined)[];

  constructor(ops: OpSequence, script: PlanScript, options: PlanFollowerOptions = {}) {
    this.ops = ops;
    this.script = script;
    this.options = options;
    const { count, phase } = ops;
    // Plain loops, here and below, because this runs in the training thread.
    this.isPassEnd = new Uint8Array(count);
    for (let op = 0; op < count; op++) {
      const next = op + 1 < count ? phase[op + 1] : Phase.optimizer;
      const isLast = next === Phase.optimizer || (next === Phase.forward && phase[op] !== Phase.forward);
      if (phase[op] !== Phase.optimizer && isLast) this.isPassEnd[op] = 1;
    }
    this.stepOfOp = new Int32Array(count).fill(-1);
    this.lastRecomputation = new Int32Array(count).fill(-1);
    for (let step = 0; step < script.op.length; step++) {
      const of = script.isRecomputed[step] === 1 ? this.lastRecomputation : this.stepOfOp;
      of[script.op[step]] = step;
    }
    this.noted = new NotedOps(ops, script, options.onLeft === undefined);
    this.recipes = new Array<Recipe | undefined>(count).fill(undefined);
    this.made = new Array<StoredBuffer | undefined>(script.values.values.length).fill(undefined);
    this.sources = new Array<StoredBuffer | undefined>(script.sourceBytes.length).fill(undefined);
  }

  passStarting(ledger: Ledger): void {
    this.ledger = ledger;
    this.left = undefined;
    const { passes } = this.script;
    this.op = this.start = passes[this.passes++ % passes.length] ?? 0;
    this.isFollowing = passes.length > 0;
    this.noted.passStarting(this.start);
    this.isBackward = false;
    this.forget();
  }

  get hasLeft(): boolean {
    return this.left !== undefined;
  }

  /** True if a pass of the plan begins with this op. */
  beginsWith(op: OpDone): boolean {
    return this.script.passes.some((start) => isOpAt(this.ops, start, op));
  }

  dataMade(storage: Storage): void {
    this.fills.push(storage);
  }

  passOver(): void {
    if (this.isFollowing && this.op > this.start && this.isPassEnd[this.op - 1] === 1)
      this.noted.passFollowed(this.start);
    this.isFollowing = false;
    this.forget();
  }

  private forget(): void {
    this.recipes.fill(undefined);
    this.made.fill(undefined);
    this.sources.fill(undefined);
    this.fills.length = 0;
    this.waiting.clear();
  }

  isNoted(): boolean {
    return !this.isFollowing || this.noted.has(this.op);
  }

  get passesNext(): boolean {
    return !this.isNoted();
  }

  evicting(buffer: StoredBuffer): void {
    if (this.isFollowing) this.noted.evicting(buffer);
  }

  opPassed(op: OpDone): void {
    this.opOver(op, undefined);
  }

  opOver(op: OpDone, recipe: Recipe | undefined): void {
    if (!this.isFollowing) return;
    const index = this.op++;
    if (!isOpAt(this.ops, index, op)) {
      this.leave(index, op);
      return;
    }
    if (op.phase === Phase.backward) this.isBackward = true;
    if (recipe !== undefined) recipe.planned = index;
    else this.noted.opWithoutRecipe(index);
    this.recipes[index] = recipe;
    this.nameOutputs(index, op);
    this.nameSources(index);
    if (this.isPassEnd[index] === 1) return;
    const { script } = this;
    this.step = this.stepOfOp[index];
    this.free();
    this.reload();
    while (script.isRecomputed[this.step + 1] === 1) {
      this.recompute(this.recipes[script.op[++this.step]]);
      this.free();
      this.reload();
    }
  }

  private nameOutputs(op: number, { outputs }: OpDone): void {
    const { start, values } = this.script.values;
    for (let value = start[op]; value < start[op + 1]; value++)
      this.made[value] = this.ledger.get(outputs[values[value]].dataId)?.buffer;
  }

  opComing(): void {
    // Other data may have become unused since.
    if (this.waiting.size > 0 && this.hasNews) this.freeWaiting();
  }

  /** Data that no op has made is freed with its last tensor, unless a later step needs it. */
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

  /**
   * True if evicted data is never read again: by no later step and, after the forward pass, by nothing outside of the
   * plan.
   */
  private readonly isOver = (buffer: StoredBuffer): boolean =>
    this.isFollowing &&
    (!buffer.isUsed || (this.isBackward && this.options.evictsForGood === true)) &&
    !this.isRecomputedLater(buffer) &&
    !this.isNeeded(buffer);

  private isRecomputedLater({ data }: StoredBuffer): boolean {
    return data.some(
      ({ maker }) => maker !== undefined && maker.planned >= 0 && this.lastRecomputation[maker.planned] > this.step,
    );
  }

  private recompute(recipe: Recipe | undefined): void {
    // The output is in memory, or nothing needs it any more.
    if (recipe?.outputs.some((data) => data?.needsReplay) !== true) return;
    for (const { buffer } of recipe.sources) if (buffer.isEvicted) this.ledger.recompute(buffer);
    this.ledger.replay(recipe);
    for (const { buffer } of recipe.sources) if (!buffer.isUsed && !buffer.isEvicted) this.bufferUnused(buffer);
    this.freeWaiting();
  }

  /**
   * Matches storages that JavaScript made before the op with the sources of the plan. They stay unknown if they differ.
   */
  private nameSources(op: number): void {
    const { fills, ledger } = this;
    if (fills.length === 0) return;
    const { sources, sourceBytes } = this.script;
    const first = sources.start[op];
    const isAsPlanned =
      sources.start[op + 1] - first === fills.length &&
      fills.every(({ bytes }, i) => bytes === sourceBytes[sources.values[first + i]]);
    if (isAsPlanned) fills.forEach((fill, i) => (this.sources[sources.values[first + i]] = ledger.bufferOf(fill)));
    fills.length = 0;
  }

  /** Reloads the values of this step, which fit once its other data is freed. */
  private reload(): void {
    const { step } = this;
    const { start, values } = this.script.reloaded;
    if (start[step] === start[step + 1]) return;
    for (let i = start[step]; i < start[step + 1]; i++) {
      const value = values[i];
      const buffer = this.made[value < 0 ? ~value : value];
      if (buffer !== undefined) this.ledger.reload(buffer, value >= 0);
    }
  }

  private free(): void {
    const { start, values } = this.script.freed;
    const { step } = this;
    for (let i = start[step]; i < start[step + 1]; i++) {
      const value = values[i];
      const buffer = value >= 0 ? this.made[value] : this.sources[~value];
      if (buffer === undefined || buffer.isEvicted || buffer.data.length === 0) continue;
      if (buffer.isEvictable) this.ledger.evict(buffer);
      else if (!buffer.isUsed) this.bufferUnused(buffer);
      else if (this.isOver(buffer)) this.ledger.evictForGood(buffer);
      this.hasNews = true;
    }
    this.offload(step);
  }

  private offload(step: number): void {
    const { start, values } = this.script.offloaded;
    for (let i = start[step]; i < start[step + 1]; i++) {
      const buffer = this.made[values[i]];
      if (buffer !== undefined) this.ledger.hostCopies.offload(buffer);
    }
  }

  /** True if a later step recomputes an op that reads the buffer. */
  private isNeeded(buffer: StoredBuffer): boolean {
    for (const { readers } of buffer.data)
      for (const { planned, isView, outputs } of readers) {
        if (planned >= 0 && this.lastRecomputation[planned] > this.step) return true;
        if (isView) for (const view of outputs) if (view !== undefined && view.buffer !== buffer) return true;
      }
    return false;
  }

  private leave(op: number, { phase, kernel, outputs }: OpDone): void {
    this.isFollowing = false;
    // A pass that begins like no pass of the plan does not count.
    if (op === this.start) this.passes--;
    const types = outputs.map(({ dtype, shape }) => ({ dtype, shape: [...shape] }));
    this.left = { op, found: { phase: phaseNames[phase], kernel, outputs: types } };
    this.options.onLeft?.(this.left);
  }
}
