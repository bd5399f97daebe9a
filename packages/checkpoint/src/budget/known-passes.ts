import { isPlanNode, type Occurrence, type Plan } from "@remat/trace";
import { fingerprintOfSequence, type OpSequence, sequenceOfOccurrences } from "../plan/op-sequence.js";
import { PlanFollower } from "../plan/plan-follower.js";
import { type PlanScript, scriptOfPlan } from "../plan/plan-script.js";
import type { PlannedPass } from "../planning/plan-within.js";
import { ReleasedPass, type RoomyPass } from "./released-pass.js";

/** A kind of pass that is known, and what it holds at most. @internal */
export interface KnownPass {
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

/** The kinds of passes that a budget knows: plans that were given, and plans and room found during the training. @internal */
export class KnownPasses {
  private readonly given: KnownPass[] = [];
  /** The newest first. */
  private learned: KnownPass[] = [];

  /** Whether a plan waits for its first pass. */
  get hasNewPlan(): boolean {
    return this.learned.some(({ isNew }) => isNew);
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

  /** A pass that needs no plan as long as there is room for it. */
  addRoomy(fingerprint: string, pass: RoomyPass): void {
    this.learn({
      fingerprint,
      follower: new ReleasedPass(pass),
      peakBytes: (heldBytes) => heldBytes + pass.addedBytes,
      isNew: false,
    });
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

  /** Plans that were made for less room; what needs none stays. */
  forgetPlans(): void {
    this.learned = this.learned.filter(({ asked }) => asked === undefined);
  }

  /** What is given comes first, unless the last pass that was asked for the same gradients and followed it has left it. */
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

  /** Tries a pass before all others next time, unless it was given. */
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

/** A step that differs goes on without its plan. */
const follow = (ops: OpSequence, script: PlanScript): PlanFollower =>
  new PlanFollower(ops, script, { evictsForGood: true });
