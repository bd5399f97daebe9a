import type { Trace } from "@remat/trace";
import type { MemoryMeter } from "../memory-meter.js";
import { fingerprintOfSequence, sequenceOfTrace } from "../plan/op-sequence.js";
import { collectGarbage } from "../planning/collect-garbage.js";
import { type Planning, planBeside } from "../planning-thread.js";
import type { PlanningOutcome } from "./budget-execution.js";
import type { BudgetLimit } from "./budget-limit.js";
import type { BudgetPolicy } from "./budget-policy.js";
import type { ReleasedMeter } from "./released-meter.js";

/** What a pass without a plan would have held with early release alone, and what was held when it began, if it has been kept within the budget; else it was stock's. */
export interface UnplannedPass {
  readonly released: ReleasedMeter;
  readonly keptFromBytes?: number;
}

/**
 * Has plans made, one after the other, in a thread beside the training, of the passes that were recorded, and gives them to a policy.
 *
 * @internal
 */
export class PassPlanner {
  /** What came of the last, when it is over. */
  private plannings: Promise<PlanningOutcome> = Promise.resolve({ kind: "none" });
  private planningCount = 0;
  /** Of these, the one that is being made. */
  private planning: Planning | undefined;
  /** In the passes that were recorded since garbage was collected. */
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

  /** Settled when no plan is being made, with what came of the last. Who asks keeps the process alive. */
  get outcome(): Promise<PlanningOutcome> {
    this.isAwaited = this.planningCount > 0;
    this.planning?.ref();
    return this.plannings;
  }

  /** Nobody follows what is planned after the end. */
  close(): void {
    this.isClosed = true;
    this.planning?.end();
  }

  /** There is more room: what was planned for less, or could not be, is planned anew. */
  planAnew(): void {
    this.policy.plannedKinds.fingerprints.clear();
    this.policy.passes.forgetPlans();
  }

  /**
   * Returns false where that is being done, or has been in vain.
   *
   * @param asked the gradients that the pass was asked for
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
    // The step goes on to update the weights; an optimizer's slots are there when it is over.
    const plan = async (): Promise<PlanningOutcome> => {
      await plannings;
      if (this.isClosed) return { kind: "none" };
      if (policy.hasRoomFor(roomy)) {
        kindsAsked.delete(kind);
        return { kind: "released" };
      }
      const heldBytes = this.meter.liveBytes;
      const budgetBytes = this.limit.limitBytes;
      // With less held, more room was left.
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
      // Should more be held one day, it is planned again.
      if (isOutdated || "script" in found) kindsAsked.delete(kind);
      if (isOutdated) return { kind: "none" };
      if (!("script" in found)) return { kind: "online", ...found };
      policy.passes.add(kind, ops, found, asked);
      return { kind: "planned", peakBytes: heldBytes + found.addedBytes };
    };
    this.planningCount++;
    this.recordedOps += ops.count;
    // A pass that cannot be planned keeps the budget without a plan, and is not asked about again.
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

/** What recording so many leaves is worth collecting: some 2 kB each, and as much in the pass itself. */
const manyOps = 2000;

/** Of a thread that came to no end. */
const nothingFound = { op: undefined, neededBytes: undefined } as const;
