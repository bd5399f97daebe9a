import type { KernelAttributes, KernelInputs, OpDone, Storage } from "@remat/dispatch-hook";
import { reconsiderPass } from "@remat/dispatch-hook/release";
import { isPlanNode, type Occurrence, type Plan } from "@remat/trace";
import { formatTypedBytes } from "@remat/trace/text";
import type { Policy } from "../executor/executor.js";
import type { Ledger } from "../executor/ledger.js";
import type { Recipe, StoredBuffer } from "../executor/stored-data.js";
import type { OnlinePolicy } from "../online/online-policy.js";
import {
  fingerprintOfSequence,
  isOpAt,
  type OpSequence,
  type RunOp,
  sequenceOfOccurrences,
} from "../plan/op-sequence.js";
import { PlanFollower } from "../plan/plan-follower.js";
import { type PlanScript, scriptOfPlan } from "../plan/plan-script.js";
import type { PlannedPass } from "../planning/plan-within.js";
import type { ReleasedMeter } from "./released-meter.js";
import { ReleasedPass, type RoomyPass } from "./released-pass.js";
import { warnOnce } from "./warning.js";

/** A kind of pass that is known, and what it holds at most. */
interface KnownPass {
  readonly fingerprint: string;
  readonly follower: PlanFollower | ReleasedPass;
  /** Given what is held when the pass begins. */
  peakBytes(heldBytes: number): number;
  /** Of one that somebody has given: the plan, and the gradients of passes that have begun as it does and then left it. */
  readonly plan?: Plan;
  readonly leftFor?: Set<string>;
  /** The gradients that a plan was made for: others may read what it has evicted for good. Left out: any. */
  readonly asked?: string;
  /** A plan that no pass has followed yet. */
  isNew: boolean;
}

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
  /** Whether a plan is being made for passes of a kind, or cannot be. */
  isAsked: (fingerprint: string) => boolean = () => false;
  /** Told in the first op of a pass that begins as one of which all is known; but whether it needs its plan, if that is new. */
  onKnown: ((isNew: boolean) => void) | undefined;
  /** Whether the last pass began as one of which all is known, and was another after all. */
  wasMistaken = false;
  /** The ops of a kind that was asked about, as long as the pass runs these; and how many it has run. */
  private askedOps: OpSequence | undefined;
  private askedOpsRun = 0;
  private readonly given: KnownPass[] = [];
  private known: KnownPass[] = [];
  /** The gradients that the pass to come is asked for. */
  private asked = "";
  private heldBytes = 0;
  private current: Policy;
  private pass: KnownPass | undefined;
  private ledger!: Ledger;
  private isFirstOp = true;
  /** Whether the pass has come as far as it has without being watched. */
  private hasForeseen = false;

  constructor(
    private readonly online: OnlinePolicy,
    private readonly meter: { readonly liveBytes: number; raise(bytes: number): void },
  ) {
    this.current = online;
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
    return this.askedOps !== undefined;
  }

  /** A pass is about to start that is asked for these gradients. */
  passComing(asked: string): void {
    this.asked = asked;
  }

  /** The newest plan is tried first; it is for passes that are asked for the same gradients. */
  add(fingerprint: string, ops: OpSequence, { script, addedBytes }: PlannedPass, asked: string): void {
    this.learn({
      fingerprint,
      follower: follow(ops, script),
      peakBytes: (heldBytes) => heldBytes + addedBytes,
      asked,
      isNew: true,
    });
  }

  /** Plans that were made for less room; what needs none stays. */
  forgetPlans(): void {
    this.known = this.known.filter(({ asked }) => asked === undefined);
  }

  /** A pass that needs no plan as long as there is room for it. */
  addRoomy(fingerprint: string, pass: RoomyPass): void {
    this.learn({
      fingerprint,
      follower: new ReleasedPass(pass),
      peakBytes: (heldBytes) => heldBytes + pass.addedBytes,
      isNew: false,
    });
  }

  /** Whether a pass that begins now needs no plan. */
  hasRoomFor({ addedBytes }: RoomyPass): boolean {
    return this.meter.liveBytes + addedBytes <= this.online.budgetBytes;
  }

  /** A plan that somebody else has made, of all that there is. It is followed wherever it fits, before what is known besides. */
  addGiven(plan: Plan): void {
    const { peakBytes } = plan.predicted;
    const ops = sequenceOfOccurrences(plan.ops.filter((op): op is Occurrence => !isPlanNode(op)));
    this.given.push({
      fingerprint: fingerprintOfSequence(ops),
      follower: follow(ops, scriptOfPlan(plan)),
      peakBytes: () => peakBytes,
      plan,
      leftFor: new Set(),
      isNew: false,
    });
  }

  /** Whether a plan waits for its first pass. */
  get hasNewPlan(): boolean {
    return this.known.some(({ isNew }) => isNew);
  }

  /** Puts early release in the place of a plan that was followed for the first time, where that is enough. */
  checkPlan(released: ReleasedMeter): void {
    const { pass } = this;
    if (pass?.isNew !== true || hasLeft(pass)) return;
    pass.isNew = false;
    const { follower, fingerprint } = pass;
    if (!(follower instanceof PlanFollower)) return;
    const roomy = released.roomyPass(follower.ops);
    if (this.hasRoomFor(roomy)) this.addRoomy(fingerprint, roomy);
  }

  private learn(pass: KnownPass): void {
    const before = this.known.findIndex(({ fingerprint }) => fingerprint === pass.fingerprint);
    if (before >= 0) this.known.splice(before, 1);
    this.known.unshift(pass);
  }

  passStarting(ledger: Ledger): void {
    this.ledger = ledger;
    this.isFirstOp = true;
    this.hasForeseen = false;
    this.wasMistaken = false;
    this.askedOps = undefined;
    this.recomputedOps = [];
    this.heldBytes = this.meter.liveBytes;
    this.online.passStarting(ledger);
    this.follow(this.likeliest(() => true));
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
      if (this.pass === undefined) this.askedOps = this.askedOpsThatBeginWith(op);
      this.askedOpsRun = 0;
      if (this.pass !== undefined || this.askedOps !== undefined) this.onKnown?.(this.pass?.isNew === true);
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
    return asked === this.asked && peakBytes(this.heldBytes) <= this.online.budgetBytes;
  }

  private choose(op: OpDone): void {
    this.tellUnfit(op);
    if (this.pass === undefined || this.pass.follower.beginsWith(op)) return;
    const other = this.likeliest(({ follower }) => follower.beginsWith(op));
    const place = other === undefined ? -1 : this.known.indexOf(other);
    if (place > 0) this.known.unshift(...this.known.splice(place, 1));
    this.follow(other);
  }

  /** A given plan of this pass that promises more than the budget is not followed: whoever gave it should know. */
  private tellUnfit(op: OpDone): void {
    const { budgetBytes } = this.online;
    const unfit = this.given.find((pass) => pass.follower.beginsWith(op) && !this.fits(pass));
    if (unfit?.plan === undefined || !Number.isFinite(budgetBytes)) return;
    const { predicted, subject } = unfit.plan;
    warnOnce(
      "PLAN_OVER_BUDGET",
      `the plan that was given for '${subject.name}' holds ${formatTypedBytes(predicted.peakBytes)}, and the budget is ${formatTypedBytes(budgetBytes)}: it is not followed. Allow what it holds, leave the budget out, or plan again for less.`,
    );
  }

  /** What is given comes first, unless the last pass that was asked for the same gradients and followed it has left it. */
  private likeliest(isIt: (pass: KnownPass) => boolean): KnownPass | undefined {
    const canBe = (pass: KnownPass) => isIt(pass) && this.fits(pass);
    return (
      this.given.find((pass) => canBe(pass) && pass.leftFor?.has(this.asked) !== true) ??
      this.known.find(canBe) ??
      this.given.find(canBe)
    );
  }

  private goAlong(op: OpDone): void {
    if (this.askedOps === undefined || isOpAt(this.askedOps, this.askedOpsRun++, op)) return;
    this.askedOps = undefined;
    this.wasMistaken = true;
  }

  private askedOpsThatBeginWith(op: OpDone): OpSequence | undefined {
    return this.known.find(({ fingerprint, follower }) => follower.beginsWith(op) && this.isAsked(fingerprint))
      ?.follower.ops;
  }

  private leave(): void {
    this.wasMistaken = true;
    this.follow(undefined);
  }

  private follow(pass: KnownPass | undefined): void {
    this.pass = pass;
    this.current = pass?.follower ?? this.online;
    pass?.follower.passStarting(this.ledger);
  }
}

const hasLeft = ({ follower }: KnownPass): boolean =>
  follower instanceof ReleasedPass ? follower.hasLeft : follower.left !== undefined;

/** A step that differs goes on without its plan. */
const follow = (ops: OpSequence, script: PlanScript): PlanFollower =>
  new PlanFollower(ops, script, { evictsForGood: true });
