import type { ModulePolicy } from "@remat/planner";
import type { SACStats } from "@remat/sac-core";
import type { Plan, Trace } from "@remat/trace";

/** What takes a view long, and is done while the app goes on. */
export type ViewWork =
  /** Finds the optimal policy of a module, once the wish for it has rested for `restMs`. */
  | { readonly kind: "planModule"; readonly stats: SACStats; readonly budgetBytes: number; readonly restMs: number }
  /** Plans the whole step for a share of its recorded peak. */
  | { readonly kind: "planWholeStep"; readonly trace: Trace; readonly budgetShare: number };

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
  /** The best that was found, or why there is none; neither where planning was stopped before it had found anything. */
  | {
      readonly kind: "stepPlanned";
      readonly trace: Trace;
      readonly plan: Plan | undefined;
      readonly reason: string | undefined;
    };
