import {
  categoryBands,
  chooseWithin,
  type HeldByOp,
  type MemoryBands,
  type PlanChoice,
  type PlanWithin,
} from "@remat/reporting";
import type { Trace } from "@remat/trace";
import { rememberLast } from "./memoize.js";

/** A plan of the whole step, as it is followed here. */
export interface FoundPlan extends PlanChoice {
  /** Nodes of `sequenceGraphOfTrace`, of the step as plans run it, in the order in which they run; of PyTorch, where modules are checkpointed, undefined. */
  readonly sequence?: Int32Array;
  /** By op that is shown: see `planFates`. */
  readonly fates: Uint8Array;
}

/** What a step holds under a plan, by op. */
export type PlanColumns = HeldByOp;

/** Plans of a step to choose from, as far as they have been looked for. */
export interface PlansState {
  /** The step that is being planned, and how far that has come. */
  readonly asked: Trace | undefined;
  readonly progress: string | undefined;
  readonly front:
    | { readonly trace: Trace; readonly plans: readonly FoundPlan[]; readonly reason: string | undefined }
    | undefined;
  /** The plan whose memory is being computed, and what was computed last. */
  readonly wanted: FoundPlan | undefined;
  readonly held: { readonly plan: FoundPlan; readonly memory: PlanColumns } | undefined;
}

export const noPlans: PlansState = {
  asked: undefined,
  progress: undefined,
  front: undefined,
  wanted: undefined,
  held: undefined,
};

/** A budget of the step, and plans to choose from. */
export interface BudgetedPlans {
  /** Undefined for no budget. */
  readonly budgetBytes: number | undefined;
  readonly plans: PlansState;
}

/** A plan, and what the step holds under it. */
export interface HeldPlan {
  readonly memory: PlanColumns;
  readonly fates: Uint8Array;
  readonly highestBytes: Float64Array;
}

/** Returns what the budget comes to; undefined where there is none, or the step has not been planned. */
export function planOfBudget(
  { budgetBytes, plans: { front } }: BudgetedPlans,
  trace: Trace,
): PlanWithin<FoundPlan> | undefined {
  if (budgetBytes === undefined || front?.trace !== trace) return undefined;
  return chooseWithin(front.plans, budgetBytes);
}

/** Returns the plan that is within the budget, once it is known what it holds. */
export function heldPlan(trace: Trace, own: BudgetedPlans, recordedPeakBytes: number): HeldPlan | undefined {
  const { held } = own.plans;
  if (held === undefined || (own.budgetBytes ?? recordedPeakBytes) >= recordedPeakBytes) return undefined;
  if (planOfBudget(own, trace)?.point !== held.plan) return undefined;
  const { memory, plan } = held;
  return { memory, fates: plan.fates, highestBytes: memory.highestBytes };
}

const bandsOf = rememberLast((memory: PlanColumns): MemoryBands => categoryBands(memory));

/** Returns what the step holds under a plan, by category. */
export function planBands({ memory }: Pick<HeldPlan, "memory">): MemoryBands {
  return bandsOf(memory);
}

/** Returns the budget of the next plan up or down, or a tenth of the peak further where plans are not known yet; undefined above all. */
export function nextBudget(
  { budgetBytes, plans: { front } }: BudgetedPlans,
  recordedPeakBytes: number,
  direction: "up" | "down",
): number | undefined {
  const now = budgetBytes ?? recordedPeakBytes;
  const peaks = front?.plans.map(({ peakBytes }) => peakBytes).filter((bytes) => bytes < recordedPeakBytes) ?? [];
  if (peaks.length === 0) {
    const tenth = Math.round(recordedPeakBytes / 10);
    const wanted = direction === "down" ? now - tenth : now + tenth;
    return wanted >= recordedPeakBytes ? undefined : Math.max(tenth, wanted);
  }
  // By falling peak.
  return direction === "down"
    ? (peaks.find((bytes) => bytes < now) ?? peaks.at(-1))
    : peaks.findLast((bytes) => bytes > now);
}
