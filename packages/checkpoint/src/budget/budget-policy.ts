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

  /** The newest plan is tried first. */
  add({ plan, addedBytes }: BudgetedPlan): void {
    const follower = new PlanFollower(plan, "store");
    const { fingerprint } = plan.subject;
    const before = this.followers.findIndex((other) => other.plan.subject.fingerprint === fingerprint);
    if (before >= 0) this.followers.splice(before, 1);
    this.followers.unshift(follower);
    this.addedBytes.set(follower, addedBytes);
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
    this.follow(this.followers.find((follower) => this.predict(follower) <= this.online.budgetBytes));
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

  private choose(op: OpDone): void {
    if (this.follower === undefined || this.follower.beginsWith(op)) return;
    const { budgetBytes } = this.online;
    const other = this.followers.find((follower) => follower.beginsWith(op) && this.predict(follower) <= budgetBytes);
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
