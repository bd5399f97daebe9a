import type { KernelAttributes, KernelInputs, OpDone, Storage } from "@remat/dispatch-hook";
import { reconsiderPass } from "@remat/dispatch-hook/release";
import type { Plan } from "@remat/trace";
import { formatTypedBytes } from "@remat/trace/text";
import type { Policy } from "../executor/executor.js";
import type { Ledger } from "../executor/ledger.js";
import type { Recipe, StoredBuffer } from "../executor/stored-data.js";
import type { OnlinePolicy } from "../online/online-policy.js";
import type { OpSequence, RunOp } from "../plan/op-sequence.js";
import type { BudgetLimit } from "./budget-limit.js";
import { type KnownPass, KnownPasses } from "./known-passes.js";
import { PlannedKinds } from "./planned-kinds.js";
import type { ReleasedMeter } from "./released-meter.js";
import { ReleasedPass, type RoomyPass } from "./released-pass.js";
import { warnOnce } from "./warning.js";

/**
 * Picks the plan that fits the pass from plans for several shapes. If none fits, or from the first op that differs, it
 * keeps the budget without a plan. A pass that fits without a plan runs without one.
 *
 * @internal
 */
export class BudgetPolicy implements Policy {
  /** Predicted peak of the last pass in bytes. Undefined if the pass did not go as planned. */
  predictedBytes: number | undefined;
  /** The given plan that the last pass followed to its end. */
  followedPlan: Plan | undefined;
  /** Indices of the ops that the last pass recomputed, once per recomputation. */
  recomputedOps: number[] = [];
  /** Also called with each buffer that only recipes still need. */
  onUnused: ((buffer: StoredBuffer) => void) | undefined;
  /**
   * Called in the first op of a pass that begins like a known one. `isNew` means that its plan is new and may turn out
   * to be unnecessary.
   */
  onKnown: ((isNew: boolean) => void) | undefined;
  /** True if the last pass began like a known one but then differed. */
  wasMistaken = false;
  readonly passes: KnownPasses = new KnownPasses();
  readonly plannedKinds: PlannedKinds = new PlannedKinds();
  /** Key of the gradients that the next pass computes. */
  private asked = "";
  private heldBytes = 0;
  private pass: KnownPass | undefined;
  private ledger!: Ledger;
  private isFirstOp = true;
  /** True if the pass has run unwatched so far. */
  private hasForeseen = false;

  private readonly online: OnlinePolicy;
  private readonly meter: { readonly liveBytes: number; raise(bytes: number): void };
  private readonly limit: Pick<BudgetLimit, "limitBytes">;

  constructor(
    online: OnlinePolicy,
    meter: { readonly liveBytes: number; raise(bytes: number): void },
    limit: Pick<BudgetLimit, "limitBytes">,
  ) {
    this.online = online;
    this.meter = meter;
    this.limit = limit;
  }

  /** The policy that decides in this pass. */
  private get current(): Policy {
    return this.pass?.follower ?? this.online;
  }

  /** True after the first op of a pass that fits without evicting anything. */
  get watchesOnly(): boolean {
    return !this.isFirstOp && this.pass?.follower.watchesOnly === true;
  }

  /** Follows an unwatched op in a pass that fits without evicting anything. */
  opForeseen(op: RunOp): void {
    const { pass } = this;
    if (!(pass?.follower instanceof ReleasedPass)) return;
    this.hasForeseen = true;
    pass.follower.opOver(op);
    if (!pass.follower.hasLeft) return;
    // Up to this op the pass went as expected, so its peak is the known one.
    this.meter.raise(pass.peakBytes(this.heldBytes));
    this.hasForeseen = false;
    this.leave();
  }

  /**
   * True to keep only saved tensors that the backward pass will read. Off under a given plan, whose prediction
   * accounts for when the rest is freed.
   */
  get prunesSaved(): boolean {
    return this.isFirstOp || this.pass?.plan === undefined;
  }

  /** True if no plan is being followed. */
  get isOnline(): boolean {
    return this.pass === undefined;
  }

  /** True if a pass like the last one is being planned, or cannot be planned. */
  get wasAsked(): boolean {
    return this.plannedKinds.isFollowed;
  }

  /** Announces a pass that computes the gradients with this key. */
  passComing(asked: string): void {
    this.asked = asked;
  }

  /** True if a pass that begins now fits without a plan. */
  hasRoomFor({ addedBytes }: RoomyPass): boolean {
    return this.meter.liveBytes + addedBytes <= this.limit.limitBytes;
  }

  /** Replaces a plan after its first use if early release alone is enough. */
  checkPlan(released: ReleasedMeter): void {
    const { pass } = this;
    if (pass?.isNew !== true || pass.follower.hasLeft) return;
    pass.isNew = false;
    const roomy = released.roomyPass(pass.follower.ops);
    if (this.hasRoomFor(roomy)) this.passes.addRoomy(pass.fingerprint, roomy);
  }

  passStarting(ledger: Ledger): void {
    this.ledger = ledger;
    this.isFirstOp = true;
    this.hasForeseen = false;
    this.wasMistaken = false;
    this.plannedKinds.begin(undefined);
    this.recomputedOps = [];
    this.heldBytes = this.meter.liveBytes;
    this.online.passStarting(ledger);
    this.follow(this.passes.likeliest(this.asked, (pass) => this.fits(pass)));
  }

  passOver(): void {
    this.predictedBytes = this.pass?.peakBytes(this.heldBytes);
    this.followedPlan = this.pass?.plan;
    this.pass?.leftFor?.delete(this.asked);
    this.online.passOver();
    this.pass?.follower.passOver();
  }

  passEnded(): void {
    const { heldBytes, pass } = this;
    if (this.hasForeseen && pass !== undefined) this.meter.raise(pass.peakBytes(heldBytes));
    this.online.passEnded();
  }

  /** The most bytes between two ops of the finished pass, if it went as expected to its end. */
  get foreseenBetweenBytes(): number | undefined {
    const { hasForeseen, pass, heldBytes } = this;
    return hasForeseen && pass?.follower instanceof ReleasedPass
      ? heldBytes + pass.follower.pass.addedBetweenBytes
      : undefined;
  }

  opComing(kernel: string, inputs: KernelInputs, attributes: KernelAttributes | undefined): void {
    this.current.opComing?.(kernel, inputs, attributes);
  }

  dataComing(bytes: number): void {
    if (this.pass === undefined) this.online.dataComing(bytes);
  }

  dataMade(storage: Storage): void {
    this.pass?.follower.dataMade?.(storage);
  }

  isNoted(op: OpDone): boolean {
    if (this.isFirstOp) return true;
    return this.current.isNoted?.(op) !== false;
  }

  get passesNext(): boolean {
    return !this.isFirstOp && this.pass?.follower.passesNext === true;
  }

  opPassed(op: OpDone): void {
    if (this.pass !== undefined) this.opOver(op, undefined);
    else this.goAlong(op);
  }

  evicting(buffer: StoredBuffer): void {
    this.pass?.follower.evicting?.(buffer);
  }

  opOver(op: OpDone, recipe: Recipe | undefined): void {
    if (this.isFirstOp) {
      this.choose(op);
      this.isFirstOp = false;
      if (!this.prunesSaved || this.watchesOnly) reconsiderPass();
      if (this.pass === undefined) this.plannedKinds.begin(this.askedOpsThatBeginWith(op));
      if (this.pass !== undefined || this.plannedKinds.isFollowed) this.onKnown?.(this.pass?.isNew === true);
    }
    this.goAlong(op);
    this.current.opOver(op, recipe);
    if (this.pass?.follower.hasLeft !== true) return;

    this.pass.leftFor?.add(this.asked);
    this.leave();
    this.online.opOver(op);
  }

  bufferUnused(buffer: StoredBuffer): void {
    this.onUnused?.(buffer);
    this.current.bufferUnused(buffer);
  }

  replaying(recipe: Recipe): void {
    this.recomputedOps.push(recipe.op);
    this.current.replaying(recipe);
  }

  /** More memory may be in use now than when the plan was made. */
  private fits({ peakBytes, asked = this.asked }: KnownPass): boolean {
    return asked === this.asked && peakBytes(this.heldBytes) <= this.limit.limitBytes;
  }

  private choose(op: OpDone): void {
    this.warnUnfit(op);
    if (this.pass === undefined || this.pass.follower.beginsWith(op)) return;
    const { passes } = this;
    const other = passes.likeliest(this.asked, (pass) => pass.follower.beginsWith(op) && this.fits(pass));
    if (other !== undefined) passes.prefer(other);
    this.follow(other);
  }

  /** Warns if a given plan for this pass needs more than the budget, because it is then not followed. */
  private warnUnfit(op: OpDone): void {
    const { limitBytes: budgetBytes } = this.limit;
    const unfit = this.passes.findGiven((pass) => pass.follower.beginsWith(op) && !this.fits(pass));
    if (unfit?.plan === undefined || !Number.isFinite(budgetBytes)) return;
    const { predicted, subject } = unfit.plan;
    warnOnce(
      "PLAN_OVER_BUDGET",
      `the plan for '${subject.name}' has a peak of ${formatTypedBytes(predicted.peakBytes)}, ` +
        `over the budget of ${formatTypedBytes(budgetBytes)}, so it is ignored. Raise the budget, or plan again within it.`,
    );
  }

  private goAlong(op: OpDone): void {
    if (this.plannedKinds.hasLeft(op)) this.wasMistaken = true;
  }

  private askedOpsThatBeginWith(op: OpDone): OpSequence | undefined {
    return this.passes.findLearned(
      ({ fingerprint, follower }) => follower.beginsWith(op) && this.plannedKinds.fingerprints.has(fingerprint),
    )?.follower.ops;
  }

  private leave(): void {
    this.wasMistaken = true;
    this.follow(undefined);
  }

  private follow(pass: KnownPass | undefined): void {
    this.pass = pass;
    pass?.follower.passStarting(this.ledger);
  }
}
