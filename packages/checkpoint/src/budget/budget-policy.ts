import type { KernelAttributes, KernelInputs, OpDone, Storage } from "@remat/dispatch-hook";
import type { Plan } from "@remat/trace";
import type { Policy } from "../executor/executor.js";
import type { Ledger } from "../executor/ledger.js";
import type { Recipe, StoredBuffer } from "../executor/stored-data.js";
import type { OnlinePolicy } from "../online/online-policy.js";
import { PlanFollower } from "../plan/plan-follower.js";
import type { BudgetedPlan } from "./planned-budget.js";

/**
 * Follows the plan that fits, of several for different shapes, and stays within the budget without one where none does: from the op on that differs.
 *
 * @internal
 */
export class BudgetPolicy implements Policy {
  /** The bytes that the last pass was to hold at most; undefined where it was not as planned. */
  predictedBytes: number | undefined;
  private readonly followers: PlanFollower[] = [];
  private readonly addedBytes = new Map<PlanFollower, number>();
  private readonly givenPeakBytes = new Map<PlanFollower, number>();
  private readonly askedOf = new Map<PlanFollower, string>();
  /** The gradients that the pass to come is asked for. */
  private asked = "";
  private heldBytes = 0;
  private current: Policy;
  private follower: PlanFollower | undefined;
  private ledger!: Ledger;
  private isFirstOp = true;

  constructor(
    private readonly online: OnlinePolicy,
    private readonly meter: { readonly liveBytes: number },
  ) {
    this.current = online;
  }

  /** A pass is about to start that is asked for these gradients. */
  passComing(asked: string): void {
    this.asked = asked;
  }

  /** The newest plan is tried first; it is for passes that are asked for the same gradients. */
  add({ plan, addedBytes }: BudgetedPlan, asked: string): void {
    const follower = new PlanFollower(plan, "store");
    const { fingerprint } = plan.subject;
    const before = this.followers.findIndex((other) => other.plan.subject.fingerprint === fingerprint);
    if (before >= 0) this.followers.splice(before, 1);
    this.followers.unshift(follower);
    this.addedBytes.set(follower, addedBytes);
    this.askedOf.set(follower, asked);
  }

  /** A plan that somebody else has made, of all that there is. */
  addGiven(plan: Plan): void {
    const follower = new PlanFollower(plan, "store");
    this.followers.push(follower);
    this.givenPeakBytes.set(follower, plan.predicted.peakBytes);
  }

  passStarting(ledger: Ledger): void {
    this.ledger = ledger;
    this.isFirstOp = true;
    this.heldBytes = this.meter.liveBytes;
    this.online.passStarting(ledger);
    this.follow(this.followers.find((follower) => this.fits(follower)));
  }

  passOver(): void {
    this.predictedBytes = this.follower && this.predict(this.follower);
    this.online.passOver();
    this.follower?.passOver();
  }

  passEnded(): void {
    this.online.passEnded();
  }

  opComing(kernel: string, inputs: KernelInputs, attributes: KernelAttributes | undefined): void {
    if (this.follower === undefined) this.online.opComing(kernel, inputs, attributes);
    else this.follower.opComing();
  }

  dataComing(bytes: number): void {
    if (this.follower === undefined) this.online.dataComing(bytes);
  }

  dataMade(storage: Storage): void {
    this.follower?.dataMade(storage);
  }

  isNoted(op: OpDone): boolean {
    return this.follower !== undefined || this.online.isNoted(op);
  }

  opOver(op: OpDone, recipe: Recipe | undefined): void {
    if (this.isFirstOp) this.choose(op);
    this.isFirstOp = false;
    this.current.opOver(op, recipe);
    if (this.follower?.mismatch === undefined) return;

    this.follow(undefined);
    this.online.opOver(op);
  }

  bufferUnused(buffer: StoredBuffer): void {
    this.current.bufferUnused(buffer);
  }

  replaying(recipe: Recipe): void {
    this.current.replaying(recipe);
  }

  /** What is held now may be more than when the plan was made. */
  private predict(follower: PlanFollower): number {
    return this.givenPeakBytes.get(follower) ?? this.heldBytes + (this.addedBytes.get(follower) ?? 0);
  }

  /** Other gradients may read what the plan has evicted for good. */
  private fits(follower: PlanFollower): boolean {
    const { asked, askedOf, online } = this;
    return (askedOf.get(follower) ?? asked) === asked && this.predict(follower) <= online.budgetBytes;
  }

  private choose(op: OpDone): void {
    if (this.follower === undefined || this.follower.beginsWith(op)) return;
    const other = this.followers.find((follower) => follower.beginsWith(op) && this.fits(follower));
    if (other !== undefined) {
      this.followers.splice(this.followers.indexOf(other), 1);
      this.followers.unshift(other);
    }
    this.follow(other);
  }

  private follow(follower: PlanFollower | undefined): void {
    this.follower = follower;
    this.current = follower ?? this.online;
    follower?.passStarting(this.ledger);
  }
}
