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

/** For so many sets of gradients it is known at once which plan is likely. */
const mostOrders = 64;

/**
 * Follows in each pass the plan that begins as the pass does; of several the one that passes like it, as far as is known before they run, have followed to their end. A
 * pass that no plan begins as is released early: nothing is noted, evicted or recomputed in it.
 *
 * @internal
 */
export class PlanChoice implements Policy {
  private readonly plans: readonly ChosenPlan[];
  /** What the pass that runs now, or ran last, has begun to follow; or, where no plan begins as it does, the one that tells so. */
  chosen: ChosenPlan | undefined;
  /** Whether no plan begins as the pass does. */
  watchesOnly = false;
  /** The likeliest plan first, for passes that are asked for the same gradients after a pass of the same plan. */
  private readonly orders = new Map<string, ChosenPlan[]>();
  /** By the gradients that passes are asked for, whether a plan has been followed to its end by any of them: not known of one that none has begun to follow. */
  private readonly tried = new Map<string, Map<ChosenPlan, boolean>>();
  private asked = "";
  /** For the pass that is coming, or runs. */
  private order: ChosenPlan[];
  /** Which plan the last pass has followed to its end. */
  private previous = -1;
  private ledger: Ledger | undefined;
  /** What JavaScript has made before the first op. */
  private readonly fills: Storage[] = [];

  constructor(plans: readonly ChosenPlan[]) {
    this.plans = plans;
    this.order = [...plans];
  }

  /** A pass is about to start that is asked for these gradients. */
  passComing(asked: string): void {
    this.asked = asked;
    this.order = this.orderFor(`${this.previous} ${asked}`);
    this.chosen = undefined;
    this.watchesOnly = false;
  }

  /** Those of the plan; the likeliest, as long as it is not known; where there is none, all that give the same bits. */
  get fasterGradients(): NonNullable<DispatchPolicy["fasterGradients"]> {
    const { chosen, watchesOnly, order } = this;
    return watchesOnly ? "equal" : (chosen ?? order[0]).gradients;
  }

  /** What no plan frees; of one that is followed it is known when that goes. */
  get prunesSaved(): boolean {
    return this.chosen === undefined || this.watchesOnly;
  }

  /** The plan that the last pass has followed to its end. */
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
    // Where no plan begins so, it tells what is otherwise, and may refuse.
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
      // What such passes have only left so far comes last.
      const isLeft = (plan: ChosenPlan): number => (tried.get(plan) === false ? 1 : 0);
      orders.set(passes, (order = plans.toSorted((a, b) => isLeft(a) - isLeft(b))));
    }
    return order;
  }
}
