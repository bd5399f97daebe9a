import type { ModulePolicy } from "@remat/planner/module-policy";
import type { WhatIfRow } from "@remat/reporting";
import type { DeviceToFit } from "@remat/reporting/verdict";
import type { SACStats } from "@remat/sac-core";
import type { DeviceSpec, Plan, Trace } from "@remat/trace";
import type { FoundPlan, PlanColumns } from "../document/step-plans.js";

/** Of what something else is asked than the step as it is. */
export interface WhatIfSubject {
  readonly name: string;
  /** Of a model that is at hand, so that it is traced anew; undefined of a run that was recorded. */
  readonly path: string | undefined;
  /** A run beside it, which may be the same step at another batch. */
  readonly other: { readonly name: string; readonly trace: Trace } | undefined;
  /** What it is to fit. */
  readonly device: DeviceToFit;
  /** By whose figures its ops are priced. */
  readonly pricedFor: DeviceSpec;
}

/** A step that is planned. */
export interface PlannedStep {
  /** As it is shown. */
  readonly trace: Trace;
  /** As plans are made of it, where its ops are others. */
  readonly planned?: Trace | undefined;
}

/** What takes a view long, and is done while the app goes on. */
export type ViewWork =
  /** Finds the optimal policy of a module, once the wish for it has rested for `restMs`. */
  | { readonly kind: "planModule"; readonly stats: SACStats; readonly budgetBytes: number; readonly restMs: number }
  /** Plans the whole step for a share of its recorded peak. */
  | ({ readonly kind: "planWholeStep"; readonly budgetShare: number } & PlannedStep)
  /** Plans the whole step for many budgets. */
  | ({ readonly kind: "planFront" } & PlannedStep)
  /** Tells what the step holds that follows one of those plans. */
  | ({ readonly kind: "holdPlan"; readonly plan: FoundPlan } & PlannedStep)
  | WhatIfWork;

/** Answers what is usual of a step, or one question. */
export type WhatIfWork =
  | { readonly kind: "usualWhatIfs"; readonly trace: Trace; readonly of: WhatIfSubject }
  | { readonly kind: "whatIf"; readonly trace: Trace; readonly of: WhatIfSubject; readonly question: string };

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
  | { readonly kind: "usualWhatIf"; readonly trace: Trace; readonly row: WhatIfRow }
  | { readonly kind: "usualWhatIfsDone"; readonly trace: Trace }
  | { readonly kind: "whatIfAnswered"; readonly trace: Trace; readonly row: WhatIfRow }
  | { readonly kind: "stepProgress"; readonly trace: Trace; readonly text: string }
  | { readonly kind: "frontProgress"; readonly trace: Trace; readonly text: string }
  /** By falling peak; none with the reason for that. */
  | {
      readonly kind: "frontFound";
      readonly trace: Trace;
      readonly plans: readonly FoundPlan[];
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
