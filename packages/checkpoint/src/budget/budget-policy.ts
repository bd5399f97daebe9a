import type { KernelAttributes, KernelInputs, OpDone, Storage } from "@remat/dispatch-hook";
import { reconsiderPass } from "@remat/dispatch-hook/release";
import type { Plan } from "@remat/trace";
import { formatTypedBytes } from "@remat/trace/text";
import type { Policy } from "../executor/executor.js";
import type { Ledger } from "../executor/ledger.js";
import type { Recipe, StoredBuffer } from "../executor/stored-data.js";
import type { OnlinePolicy } from "../online/online-policy.js";
import type { OpSequence, RunOp } from "../plan/op-sequence.js";
import { PlanFollower } from "../plan/plan-follower.js";
import type { BudgetLimit } from "./budget-limit.js";
import { type KnownPass, KnownPasses } from "./known-passes.js";
import { PlannedKinds } from "./planned-kinds.js";
import type { ReleasedMeter } from "./released-meter.js";
import { ReleasedPass, type RoomyPass } from "./released-pass.js";
import { warnOnce } from "./warning.js";

/**
 * Follows the plan that fits, of several for different shapes, and stays within the budget without one where none does: from the op on that differs. A pass for which
 * there is room needs none.
 *
 * @internal
 */
export class BudgetPolicy implements Policy {
  /** The bytes that the last pass was to hold at most; undefined where it was not as planned. */
  predictedBytes: number | undefined;
  /** The given plan that the last pass has followed to its end. */
  followedPlan: Plan | undefined;
  /** The ops that the last pass has recomputed, by their place in it, as often as it has. */
  recomputedOps: number[] = [];
  /** What only recipes need from now on is told here, too. */
  onUnused: ((buffer: StoredBuffer) => void) | undefined;
  /** Told in the first op of a pass that begins as one of which all is known; but whether it needs its plan, if that is new. */
  onKnown: ((isNew: boolean) => void) | undefined;
  /** Whether the last pass began as one of which all is known, and was another after all. */
  wasMistaken = false;
  readonly passes: KnownPasses = new KnownPasses();
  readonly plannedKinds: PlannedKinds = new PlannedKinds();
  /** The gradients that the pass to come is asked for. */
  private asked = "";
  private heldBytes = 0;
  private pass: KnownPass | undefined;
  private ledger!: Ledger;
  private isFirstOp = true;
  /** Whether the pass has come as far as it has without being watched. */
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

  /** What decides in this pass. */
  private get current(): Policy {
    return this.pass?.follower ?? this.online;
  }

  /** Nothing is evicted in a pass that has room, once its first op has told that it is one. */
  get watchesOnly(): boolean {
    return !this.isFirstOp && this.pass?.follower instanceof ReleasedPass;
  }

  /** An op has run that nobody watched, in a pass that has room. */
  opForeseen(op: RunOp): void {
    const { pass } = this;
    if (!(pass?.follower instanceof ReleasedPass)) return;
    this.hasForeseen = true;
    pass.follower.opOver(op);
    if (!pass.follower.hasLeft) return;
    // Up to here it has been as foreseen, and has held no more.
    this.meter.raise(pass.peakBytes(this.heldBytes));
    this.hasForeseen = false;
    this.leave();
  }

  /** Whether only what the backward pass will read stays saved: but under a plan that somebody has given, whose prediction knows when the rest is freed. */
  get prunesSaved(): boolean {
    return this.isFirstOp || this.pass?.plan === undefined;
  }

  /** Whether no plan is followed now. */
  get isOnline(): boolean {
    return this.pass === undefined;
  }

  /** Whether the last pass was one for which a plan is being made, or cannot be. */
  get wasAsked(): boolean {
    return this.plannedKinds.isFollowed;
  }

  /** A pass is about to start that is asked for these gradients. */
  passComing(asked: string): void {
    this.asked = asked;
  }

  /** Whether a pass that begins now needs no plan. */
  hasRoomFor({ addedBytes }: RoomyPass): boolean {
    return this.meter.liveBytes + addedBytes <= this.limit.limitBytes;
  }

  /** Puts early release in the place of a plan that was followed for the first time, where that is enough. */
  checkPlan(released: ReleasedMeter): void {
    const { pass } = this;
    if (pass?.isNew !== true || hasLeft(pass)) return;
    pass.isNew = false;
    const { follower, fingerprint } = pass;
    if (!(follower instanceof PlanFollower)) return;
    const roomy = released.roomyPass(follower.ops);
    if (this.hasRoomFor(roomy)) this.passes.addRoomy(fingerprint, roomy);
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

  /** The most bytes between two ops of the pass that is over, if it was foreseen to its end. */
  get foreseenBetweenBytes(): number | undefined {
    const { hasForeseen, pass, heldBytes } = this;
    return hasForeseen && pass?.follower instanceof ReleasedPass
      ? heldBytes + pass.follower.pass.addedBetweenBytes
      : undefined;
  }

  opComing(kernel: string, inputs: KernelInputs, attributes: KernelAttributes | undefined): void {
    if (this.pass === undefined) this.online.opComing(kernel, inputs, attributes);
    else if (this.pass.follower instanceof PlanFollower) this.pass.follower.opComing();
  }

  dataComing(bytes: number): void {
    if (this.pass === undefined) this.online.dataComing(bytes);
  }

  dataMade(storage: Storage): void {
    if (this.pass?.follower instanceof PlanFollower) this.pass.follower.dataMade(storage);
  }

  isNoted(op: OpDone): boolean {
    if (this.isFirstOp) return true;
    if (this.pass === undefined) return this.online.isNoted(op);
    return !(this.pass.follower instanceof PlanFollower) || this.pass.follower.isNoted();
  }

  get passesNext(): boolean {
    return !this.isFirstOp && this.pass?.follower instanceof PlanFollower && this.pass.follower.passesNext;
  }

  opPassed(op: OpDone): void {
    if (this.pass !== undefined) this.opOver(op, undefined);
    else this.goAlong(op);
  }

  evicting(buffer: StoredBuffer): void {
    if (this.pass?.follower instanceof PlanFollower) this.pass.follower.evicting(buffer);
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
    if (this.pass === undefined || !hasLeft(this.pass)) return;

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

  /** What is held now may be more than when the plan was made. */
  private fits({ peakBytes, asked = this.asked }: KnownPass): boolean {
    return asked === this.asked && peakBytes(this.heldBytes) <= this.limit.limitBytes;
  }

  private choose(op: OpDone): void {
    this.tellUnfit(op);
    if (this.pass === undefined || this.pass.follower.beginsWith(op)) return;
    const { passes } = this;
    const other = passes.likeliest(this.asked, (pass) => pass.follower.beginsWith(op) && this.fits(pass));
    if (other !== undefined) passes.prefer(other);
    this.follow(other);
  }

  /** A given plan of this pass that promises more than the budget is not followed: whoever gave it should know. */
  private tellUnfit(op: OpDone): void {
    const { limitBytes: budgetBytes } = this.limit;
    const unfit = this.passes.findGiven((pass) => pass.follower.beginsWith(op) && !this.fits(pass));
    if (unfit?.plan === undefined || !Number.isFinite(budgetBytes)) return;
    const { predicted, subject } = unfit.plan;
    warnOnce(
      "PLAN_OVER_BUDGET",
      `the plan that was given for '${subject.name}' holds ${formatTypedBytes(predicted.peakBytes)}, and the budget is ${formatTypedBytes(budgetBytes)}: it is not followed. Allow what it holds, leave the budget out, or plan again for less.`,
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

const hasLeft = ({ follower }: KnownPass): boolean =>
  follower instanceof ReleasedPass ? follower.hasLeft : follower.left !== undefined;
