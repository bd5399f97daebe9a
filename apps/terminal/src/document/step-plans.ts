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

/** A plan of the whole step, as the app simulates it. */
export interface FoundPlan extends PlanChoice {
  /**
   * Nodes of `sequenceGraphOfTrace` in execution order, for the step as plans run it. Undefined for PyTorch, where
   * modules are checkpointed.
   */
  readonly sequence?: Int32Array;
  /** For each op that is shown: see `planFates`. */
  readonly fates: Uint8Array;
}

/** A step's memory under a plan, by op. */
export type PlanColumns = HeldByOp;

/** Plans of a step to choose from, as far as they have been searched. */
export interface PlansState {
  /** The step that is being planned, and the progress. */
  readonly asked: Trace | undefined;
  readonly progress: string | undefined;
  readonly front:
    | { readonly trace: Trace; readonly plans: readonly FoundPlan[]; readonly reason: string | undefined }
    | undefined;
  /** The plan whose memory is being computed, and the last result. */
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

/** A plan, and the step's memory under it. */
export interface HeldPlan {
  readonly memory: PlanColumns;
  readonly fates: Uint8Array;
  readonly peakBytes: number;
  /** The op that runs, or is recomputed, at the peak. -1: the peak is before the first op. */
  readonly peakOp: number;
}

/** Returns the choice for the budget, or undefined if there is no budget or the step has not been planned. */
export function planOfBudget(
  { budgetBytes, plans: { front } }: BudgetedPlans,
  trace: Trace,
): PlanWithin<FoundPlan> | undefined {
  if (budgetBytes === undefined || front?.trace !== trace) return undefined;
  return chooseWithin(front.plans, budgetBytes);
}

/** Returns the plan within the budget if its memory is already computed. */
export function heldPlan(trace: Trace, own: BudgetedPlans, recordedPeakBytes: number): HeldPlan | undefined {
  const { held } = own.plans;
  if (held === undefined || (own.budgetBytes ?? recordedPeakBytes) >= recordedPeakBytes) return undefined;
  if (planOfBudget(own, trace)?.point !== held.plan) return undefined;
  const { memory, plan } = held;
  return { memory, fates: plan.fates, peakBytes: plan.peakBytes, peakOp: memory.peakOp };
}

const bandsOf = rememberLast((memory: PlanColumns): MemoryBands => categoryBands(memory));

/** Returns the step's memory under a plan by category. */
export function planBands({ memory }: Pick<HeldPlan, "memory">): MemoryBands {
  return bandsOf(memory);
}

/**
 * Returns the budget of the next plan up or down, or one tenth of the peak further if plans are not known yet.
 * Undefined above the highest.
 */
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
