import type { OpDone } from "@remat/dispatch-hook";
import { isPlanNode, type Occurrence, type Plan } from "@remat/trace";
import type { Policy } from "../executor/executor.js";
import type { StoredBuffer } from "../executor/stored-data.js";
import { fingerprintOfSequence, type OpSequence, sequenceOfOccurrences } from "../plan/op-sequence.js";
import { PlanFollower } from "../plan/plan-follower.js";
import { type PlanScript, scriptOfPlan } from "../plan/plan-script.js";
import type { PlannedPass } from "../planning/plan-within.js";
import { ReleasedPass, type RoomyPass } from "./released-pass.js";

/** Follows the ops of a known pass, and does what the pass is known to need. @internal */
export interface PassFollower extends Policy {
  readonly ops: OpSequence;
  /** True if the pass has run an op that the known pass does not. */
  readonly hasLeft: boolean;
  /** Returns whether a pass that begins with this op may be the known one. */
  beginsWith(op: OpDone): boolean;
  /** A buffer is about to be evicted. */
  evicting?(buffer: StoredBuffer): void;
}

/** A known sequence of ops of a pass, with its peak memory. @internal */
export interface KnownPass {
  readonly fingerprint: string;
  readonly follower: PassFollower;
  /** Peak in bytes, given the bytes alive when the pass begins. */
  peakBytes(heldBytes: number): number;
  /** The plan, if it was given in the options. */
  readonly plan?: Plan;
  /** Keys of the gradients of passes that began like the plan and then left it. */
  readonly leftFor?: Set<string>;
  /**
   * Key of the gradients that the plan was made for. Other passes may read data that the plan has evicted for good.
   * Undefined means any.
   */
  readonly asked?: string;
  /** True if no pass has followed the plan yet. */
  isNew: boolean;
}

/**
 * The passes that a budget knows by their sequence of ops: given plans, and plans and unplanned passes learned during
 * training.
 * @internal
 */
export class KnownPasses {
  private readonly given: KnownPass[] = [];
  /** Newest first. */
  private learned: KnownPass[] = [];

  /** True if a plan waits for its first pass. */
  get hasNewPlan(): boolean {
    return this.learned.some(({ isNew }) => isNew);
  }

  /** Adds a plan, which is tried first. It applies to passes that compute the same gradients. */
  add(fingerprint: string, ops: OpSequence, { script, addedBytes }: PlannedPass, asked: string): void {
    this.learn({
      fingerprint,
      follower: follow(ops, script),
      peakBytes: (heldBytes) => heldBytes + addedBytes,
      asked,
      isNew: true,
    });
  }

  /** Adds a pass that needs no plan as long as it fits. */
  addRoomy(fingerprint: string, pass: RoomyPass): void {
    this.learn({
      fingerprint,
      follower: new ReleasedPass(pass),
      peakBytes: (heldBytes) => heldBytes + pass.addedBytes,
      isNew: false,
    });
  }

  /** Adds a plan from the options, which covers the whole pass. If it fits, it takes precedence over learned passes. */
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

  /** Forgets plans made for a smaller budget. Passes that need no plan stay. */
  forgetPlans(): void {
    this.learned = this.learned.filter(({ asked }) => asked === undefined);
  }

  /** Given plans come first, except a plan that the last pass with the same gradients followed and left. */
  likeliest(asked: string, canBe: (pass: KnownPass) => boolean): KnownPass | undefined {
    return (
      this.given.find((pass) => canBe(pass) && pass.leftFor?.has(asked) !== true) ??
      this.learned.find(canBe) ??
      this.given.find(canBe)
    );
  }

  findGiven(isIt: (pass: KnownPass) => boolean): KnownPass | undefined {
    return this.given.find(isIt);
  }

  findLearned(isIt: (pass: KnownPass) => boolean): KnownPass | undefined {
    return this.learned.find(isIt);
  }

  /** Tries a learned pass first next time. */
  prefer(pass: KnownPass): void {
    const place = this.learned.indexOf(pass);
    if (place > 0) this.learned.unshift(...this.learned.splice(place, 1));
  }

  private learn(pass: KnownPass): void {
    const before = this.learned.findIndex(({ fingerprint }) => fingerprint === pass.fingerprint);
    if (before >= 0) this.learned.splice(before, 1);
    this.learned.unshift(pass);
  }
}

/** A step that differs continues without its plan. */
const follow = (ops: OpSequence, script: PlanScript): PlanFollower =>
  new PlanFollower(ops, script, { evictsForGood: true });
