import type { ModulePolicy } from "@remat/planner/module-policy";
import type { WhatIfRow } from "@remat/reporting";
import type { DeviceToFit } from "@remat/reporting/verdict";
import type { SACStats } from "@remat/sac-core";
import type { DeviceSpec, Plan, Trace } from "@remat/trace";
import type { FoundPlan, PlanColumns } from "../document/step-plans.js";

/** The step that what-if questions are about. */
export interface WhatIfSubject {
  readonly name: string;
  /** The path of its model, so that it is traced again, or undefined for a recorded run. */
  readonly path: string | undefined;
  /** A second run, which may be the same step at another batch. */
  readonly other: { readonly name: string; readonly trace: Trace } | undefined;
  /** The device that it has to fit on. */
  readonly device: DeviceToFit;
  /** The device that op times are estimated for. */
  readonly pricedFor: DeviceSpec;
}

/** A step that is planned. */
export interface PlannedStep {
  /** The step as it is shown. */
  readonly trace: Trace;
  /** The step that plans are made for, if its ops differ. */
  readonly planned?: Trace | undefined;
}

/** Long work of a view that runs in the background. */
export type ViewWork =
  /** Finds the optimal policy of a module, after the request has been unchanged for `restMs`. */
  | { readonly kind: "planModule"; readonly stats: SACStats; readonly budgetBytes: number; readonly restMs: number }
  /** Plans the whole step for a share of its recorded peak. */
  | ({ readonly kind: "planWholeStep"; readonly budgetShare: number } & PlannedStep)
  /** Plans the whole step for many budgets. */
  | ({ readonly kind: "planFront" } & PlannedStep)
  /** Computes the step's memory under one of those plans. */
  | ({ readonly kind: "holdPlan"; readonly plan: FoundPlan } & PlannedStep)
  | WhatIfWork;

/** Answers the usual questions about a step, or one question. */
export type WhatIfWork =
  | { readonly kind: "usualWhatIfs"; readonly trace: Trace; readonly of: WhatIfSubject }
  | { readonly kind: "whatIf"; readonly trace: Trace; readonly of: WhatIfSubject; readonly question: string };

/** Result of the work. */
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
  /** Plans by falling peak, or none, with the reason. */
  | {
      readonly kind: "frontFound";
      readonly trace: Trace;
      readonly plans: readonly FoundPlan[];
      readonly reason: string | undefined;
    }
  /** The step's memory under the plan with that peak. */
  | {
      readonly kind: "planHeld";
      readonly trace: Trace;
      readonly peakBytes: number;
      readonly memory: PlanColumns | undefined;
    }
  /** The best plan that was found, or why there is none. Neither, if planning was stopped before it found one. */
  | {
      readonly kind: "stepPlanned";
      readonly trace: Trace;
      readonly plan: Plan | undefined;
      readonly reason: string | undefined;
    };
