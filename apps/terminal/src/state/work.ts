import type { ModulePolicy } from "@remat/planner";
import type { SACStats } from "@remat/sac-core";
import type { Plan, Trace } from "@remat/trace";
import type { FoundPlan, PlanColumns } from "../document/step-plans.js";

/** What takes a view long, and is done while the app goes on. */
export type ViewWork =
  /** Finds the optimal policy of a module, once the wish for it has rested for `restMs`. */
  | { readonly kind: "planModule"; readonly stats: SACStats; readonly budgetBytes: number; readonly restMs: number }
  /** Plans the whole step for a share of its recorded peak. */
  | { readonly kind: "planWholeStep"; readonly trace: Trace; readonly budgetShare: number }
  /** Plans the whole step for many budgets. */
  | { readonly kind: "planFront"; readonly trace: Trace }
  /** Tells what the step holds that follows one of those plans. */
  | { readonly kind: "holdPlan"; readonly trace: Trace; readonly plan: FoundPlan };

/** What comes of it. */
export type ViewAnswer =
  | {
      readonly kind: "modulePlanned";
      readonly stats: SACStats;
      readonly budgetBytes: number;
      readonly policy: ModulePolicy;
    }
  | {
      readonly kind: "moduleNotPlanned";
      readonly stats: SACStats;
      readonly budgetBytes: number;
      readonly reason: string;
    }
  | { readonly kind: "stepProgress"; readonly trace: Trace; readonly text: string }
  | { readonly kind: "frontProgress"; readonly trace: Trace; readonly text: string }
  /** By falling peak; none with the reason for that. */
  | {
      readonly kind: "frontFound";
      readonly trace: Trace;
      readonly plans: readonly FoundPlan[];
      readonly recordedPeakBytes: number;
      readonly reason: string | undefined;
    }
  /** Of the plan with that peak. */
  | {
      readonly kind: "planHeld";
      readonly trace: Trace;
      readonly peakBytes: number;
      readonly memory: PlanColumns | undefined;
    }
  /** The best that was found, or why there is none; neither where planning was stopped before it had found anything. */
  | {
      readonly kind: "stepPlanned";
      readonly trace: Trace;
      readonly plan: Plan | undefined;
      readonly reason: string | undefined;
    };
