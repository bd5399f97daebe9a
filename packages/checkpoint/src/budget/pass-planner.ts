import type { Trace } from "@remat/trace";
import type { MemoryMeter } from "../memory-meter.js";
import { fingerprintOfSequence, sequenceOfTrace } from "../plan/op-sequence.js";
import { collectGarbage } from "../planning/collect-garbage.js";
import { type Planning, planBeside } from "../planning-thread.js";
import type { PlanningOutcome } from "./budget-execution.js";
import type { BudgetLimit } from "./budget-limit.js";
import type { BudgetPolicy } from "./budget-policy.js";
import type { ReleasedMeter } from "./released-meter.js";

/** A pass that ran without a plan. */
export interface UnplannedPass {
  /** Its memory with early release alone. */
  readonly released: ReleasedMeter;
  /** Bytes alive when it began, if the budget was enforced. Undefined if it ran to measure the baseline. */
  readonly keptFromBytes?: number;
}

/** Plans recorded passes in a background thread, one at a time, and adds the plans to a policy. @internal */
export class PassPlanner {
  /** Resolves with the result of the last planning. */
  private plannings: Promise<PlanningOutcome> = Promise.resolve({ kind: "none" });
  private planningCount = 0;
  /** The planning that runs now. */
  private planning: Planning | undefined;
  /** Ops recorded since the last garbage collection. */
  private recordedOps = 0;
  private isAwaited = false;
  private isClosed = false;

  private readonly policy: BudgetPolicy;
  private readonly meter: MemoryMeter;
  private readonly planningMs: number;
  private readonly limit: Pick<BudgetLimit, "limitBytes">;

  constructor(policy: BudgetPolicy, meter: MemoryMeter, planningMs: number, limit: Pick<BudgetLimit, "limitBytes">) {
    this.policy = policy;
    this.meter = meter;
    this.planningMs = planningMs;
    this.limit = limit;
  }

  /** Resolves with the last result once nothing is being planned. Reading it keeps the process alive. */
  get outcome(): Promise<PlanningOutcome> {
    this.isAwaited = this.planningCount > 0;
    this.planning?.ref();
    return this.plannings;
  }

  /** Stops planning, since no pass will follow the plans. */
  close(): void {
    this.isClosed = true;
    this.planning?.end();
  }

  /** Forgets plans made for a smaller budget, so that these passes are planned again. */
  planAnew(): void {
    this.policy.plannedKinds.fingerprints.clear();
    this.policy.passes.forgetPlans();
  }

  /**
   * Plans a recorded pass. Returns false if such a pass is already being planned, or could not be planned.
   *
   * @param asked key of the gradients that the pass computes
   */
  plan(trace: Trace, asked: string, { released, keptFromBytes = -1 }: UnplannedPass): boolean {
    const { plannings, policy } = this;
    const { fingerprints: kindsAsked } = policy.plannedKinds;
    const ops = sequenceOfTrace(trace);
    const kind = fingerprintOfSequence(ops);
    const roomy = released.roomyPass(ops);
    policy.passes.addRoomy(kind, roomy);
    if (kindsAsked.has(kind)) return false;
    kindsAsked.add(kind);
    const { recomputedOps } = policy;
    // Waiting lets the step update its weights, so that the optimizer's slots are counted.
    const plan = async (): Promise<PlanningOutcome> => {
      await plannings;
      if (this.isClosed) return { kind: "none" };
      if (policy.hasRoomFor(roomy)) {
        kindsAsked.delete(kind);
        return { kind: "released" };
      }
      const heldBytes = this.meter.liveBytes;
      const budgetBytes = this.limit.limitBytes;
      // If more is alive now than when the pass began, the pass had more memory, so its recomputations are no measure.
      const isAsFull = keptFromBytes >= heldBytes;
      const planning = planBeside({
        trace,
        heldBytes,
        budgetBytes,
        planningMs: this.planningMs,
        recomputedAnyway: isAsFull ? recomputedOps : undefined,
      });
      this.planning = planning;
      if (this.isAwaited) planning.ref();
      const found = (await planning.planned) ?? nothingFound;
      this.planning = undefined;
      const isOutdated = budgetBytes !== this.limit.limitBytes;
      // If more is alive later, the pass is planned again.
      if (isOutdated || "script" in found) kindsAsked.delete(kind);
      if (isOutdated) return { kind: "none" };
      if (!("script" in found)) return { kind: "online", ...found };
      policy.passes.add(kind, ops, found, asked);
      return { kind: "planned", peakBytes: heldBytes + found.addedBytes };
    };
    this.planningCount++;
    this.recordedOps += ops.count;
    // A pass that cannot be planned meets the budget online, and is not planned again.
    this.plannings = plan()
      .catch((): PlanningOutcome => ({ kind: "online", ...nothingFound }))
      .finally(() => {
        if (--this.planningCount > 0) return;
        this.isAwaited = false;
        if (this.recordedOps >= manyOps) collectGarbage();
        this.recordedOps = 0;
      });
    return true;
  }
}

/**
 * Recording leaves about 2 kB of garbage per op, and the pass itself as much. Collecting pays off from this many ops
 * on.
 */
const manyOps = 2000;

/** Result of a planning thread that did not finish. */
const nothingFound = { op: undefined, neededBytes: undefined } as const;
