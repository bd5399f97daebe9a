import type { DispatchPolicy, OpDone, Storage } from "@remat/dispatch-hook";
import { reconsiderPass } from "@remat/dispatch-hook/release";
import type { Occurrence, Plan } from "@remat/trace";
import type { Policy } from "../executor/executor.js";
import type { Ledger } from "../executor/ledger.js";
import type { Recipe, StoredBuffer } from "../executor/stored-data.js";
import type { PlanFollower } from "./plan-follower.js";

/** A plan that passes may follow. @internal */
export interface ChosenPlan {
  readonly plan: Plan;
  readonly ops: readonly Occurrence[];
  readonly follower: PlanFollower;
  readonly gradients: NonNullable<DispatchPolicy["fasterGradients"]>;
}

/** Maximum number of sets of gradients for which the most likely plan is remembered. */
const mostOrders = 64;

/**
 * Chooses for each pass a plan whose first op matches. If several plans match, it prefers the one that similar passes
 * have followed to the end. If no plan matches, the pass runs with early release only: nothing is recorded, evicted or
 * recomputed.
 *
 * @internal
 */
export class PlanChoice implements Policy {
  private readonly plans: readonly ChosenPlan[];
  /**
   * The plan that the current or last pass follows. If no plan matches the pass, this is the most likely plan, which
   * reports the mismatch.
   */
  chosen: ChosenPlan | undefined;
  /** True if no plan begins like the pass. */
  watchesOnly = false;
  /** The plans, the most likely one first, for each pair of previous plan and gradients. */
  private readonly orders = new Map<string, ChosenPlan[]>();
  /**
   * For each set of gradients, whether any pass followed the plan to its end. No entry if none has begun to follow it.
   */
  private readonly tried = new Map<string, Map<ChosenPlan, boolean>>();
  private asked = "";
  /** Plans in order of likelihood for the next or current pass. */
  private order: ChosenPlan[];
  /** Index of the plan that the last pass followed to its end. */
  private previous = -1;
  private ledger: Ledger | undefined;
  /** Storages that JavaScript made before the first op. */
  private readonly fills: Storage[] = [];

  constructor(plans: readonly ChosenPlan[]) {
    this.plans = plans;
    this.order = [...plans];
  }

  /** Announces a pass that computes the gradients with this key. */
  passComing(asked: string): void {
    this.asked = asked;
    this.order = this.orderFor(`${this.previous} ${asked}`);
    this.chosen = undefined;
    this.watchesOnly = false;
  }

  /**
   * The faster gradients of the chosen plan or, until one is chosen, of the most likely plan. Without a plan, all that
   * are bitwise identical.
   */
  get fasterGradients(): NonNullable<DispatchPolicy["fasterGradients"]> {
    const { chosen, watchesOnly, order } = this;
    return watchesOnly ? "equal" : (chosen ?? order[0]).gradients;
  }

  /** Prunes saved tensors only in passes without a plan. A plan schedules when they are freed. */
  get prunesSaved(): boolean {
    return this.chosen === undefined || this.watchesOnly;
  }

  /** The plan that the last pass followed to its end. */
  get followed(): ChosenPlan | undefined {
    const { chosen, watchesOnly } = this;
    return watchesOnly || chosen?.follower.left !== undefined ? undefined : chosen;
  }

  passStarting(ledger: Ledger): void {
    this.ledger = ledger;
    this.fills.length = 0;
  }

  passOver(): void {
    const { chosen, followed, order } = this;
    this.ledger = undefined;
    chosen?.follower.passOver();
    if (chosen === undefined || this.watchesOnly) return;
    order.splice(order.indexOf(chosen), 1);
    if (followed === undefined) order.push(chosen);
    else order.unshift(chosen);
    const tried = this.triedBy(this.asked);
    tried.set(chosen, tried.get(chosen) === true || followed !== undefined);
    this.previous = followed === undefined ? -1 : this.plans.indexOf(chosen);
  }

  opComing(): void {
    if (!this.watchesOnly) this.chosen?.follower.opComing();
  }

  dataMade(storage: Storage): void {
    if (this.chosen === undefined) this.fills.push(storage);
    else if (!this.watchesOnly) this.chosen.follower.dataMade(storage);
  }

  opOver(op: OpDone, recipe: Recipe | undefined): void {
    if (this.chosen === undefined) this.choose(op, recipe);
    else if (!this.watchesOnly) this.chosen.follower.opOver(op, recipe);
  }

  bufferUnused(buffer: StoredBuffer): void {
    if (this.chosen !== undefined && !this.watchesOnly) this.chosen.follower.bufferUnused(buffer);
    else if (buffer.isEvictable) this.ledger?.evict(buffer);
    else this.ledger?.free(buffer);
  }

  replaying(): void {}

  isNoted(): boolean {
    return this.chosen === undefined || this.watchesOnly || this.chosen.follower.isNoted();
  }

  get passesNext(): boolean {
    return !this.isNoted();
  }

  opPassed(op: OpDone): void {
    this.opOver(op, undefined);
  }

  evicting(buffer: StoredBuffer): void {
    if (!this.watchesOnly) this.chosen?.follower.evicting(buffer);
  }

  private choose(op: OpDone, recipe: Recipe | undefined): void {
    const { order } = this;
    const found = order.find(({ follower }) => follower.beginsWith(op));
    this.chosen = found ?? order[0];
    const { follower } = this.chosen;
    follower.passStarting(this.ledger as Ledger);
    for (const fill of this.fills) follower.dataMade(fill);
    // If no plan begins like this op, the first one reports the difference and may reject it.
    follower.opOver(op, recipe);
    this.watchesOnly = found === undefined;
    reconsiderPass();
  }

  private triedBy(asked: string): Map<ChosenPlan, boolean> {
    let tried = this.tried.get(asked);
    if (tried === undefined) {
      if (this.tried.size === mostOrders) this.tried.clear();
      this.tried.set(asked, (tried = new Map()));
    }
    return tried;
  }

  private orderFor(passes: string): ChosenPlan[] {
    const { orders, plans } = this;
    let order = orders.get(passes);
    if (order === undefined) {
      if (orders.size === mostOrders) orders.clear();
      const tried = this.triedBy(this.asked);
      // Plans that such passes have only left so far come last.
      const isLeft = (plan: ChosenPlan): number => (tried.get(plan) === false ? 1 : 0);
      orders.set(passes, (order = plans.toSorted((a, b) => isLeft(a) - isLeft(b))));
    }
    return order;
  }
}
