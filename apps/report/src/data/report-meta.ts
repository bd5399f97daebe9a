import type {
  CompareView,
  EnvironmentGroup,
  PlanChoice,
  RecommendedPlan,
  ReportSummary,
  WhatIfRow,
} from "@remat/reporting";
import type { Answer } from "@remat/reporting/answers";
import type { LeaksRow } from "@remat/reporting/documents";
import type { HeldRow } from "@remat/reporting/held-tree";
import type { Verdict } from "@remat/reporting/verdict";

/** A line over the timeline, from a plan or another run. */
export interface Overlay {
  /** Identifies the overlay within the report. */
  readonly key: string;
  /** Its name in the legend. */
  readonly label: string;
  /** A plan, a measured run, another run that was not measured, or one rank under a sharding plan. */
  readonly kind: "plan" | "measured" | "other" | "fsdp";
  readonly peakBytes: number;
  /** Its meaning, in a sentence. */
  readonly note: string;
  /** True if it was requested, so that it is visible from the start. */
  readonly isGiven: boolean;
}

/** A plan of the whole step that the page can show. */
export interface FollowedPlan extends PlanChoice {
  /** Name of a given file, or empty for a plan that was found when the report was made. */
  readonly name: string;
  /** Number of op executions that are recomputations. */
  readonly recomputations: number;
}

/** Result of planning the whole step. */
export interface PlanFindings {
  /** True if they are policies for `torch.utils.checkpoint`. */
  readonly isForTorch: boolean;
  /** Peak of the recorded trace. */
  readonly recordedPeakBytes: number;
  /** Peak of a plan that runs every op once and frees everything after its last use. */
  readonly plainPeakBytes: number;
  /** By falling peak: more time always buys memory. */
  readonly front: readonly FollowedPlan[];
  /** With no slowdown, with at most 5% and with at most 20% more time. */
  readonly recommended: readonly RecommendedPlan[];
}

/** A comparison of the report's own run (before) with another run (after). */
export interface Comparison {
  /** Display name of the other run. */
  readonly name: string;
  /** True if kernels ran in the other run, or if it contains measured op times. */
  readonly isMeasured: boolean;
  readonly view: CompareView;
}

/** Results about sharding. */
export interface FsdpFindings {
  /** Name of the sharding plan. */
  readonly plan: string;
  /** Number of ranks. */
  readonly worldSize: number;
  /** Peak memory of rank 0. */
  readonly peakBytes: number;
  /** Bytes of each category at that peak. */
  readonly bytesByCategory: Readonly<Record<string, number>>;
}

/** Storages that outlive the steps of the run. */
export interface LeakFindings {
  readonly facts: readonly string[];
  readonly rows: readonly LeaksRow[];
}

/** Content of a report except the trace, as plain data. The same that a script gets from `--extract`. */
export interface ReportMeta {
  readonly title: string;
  /** The kind of input it was made from. */
  readonly from: "model" | "trace" | "plan";
  readonly summary: ReportSummary;
  /**
   * Verdict on whether the step fits the device it is meant for. Undefined if the run does not show that, or no device
   * was named.
   */
  readonly verdict: Verdict | undefined;
  /**
   * Answers to the first questions: does it fit, what uses the memory, what can be saved with no slowdown, what to run
   * next.
   */
  readonly answers: readonly Answer[];
  /** The largest groups in use at the peak, as rows of a tree, or empty if unknown. */
  readonly heldRows: readonly HeldRow[];
  readonly environment: readonly EnvironmentGroup[];
  /** Undefined if no plans were searched for or found. */
  readonly plans: PlanFindings | undefined;
  /** The reason if there are no plans. */
  readonly noPlans: string | undefined;
  /** Plans of {@link ReportData.followed}: the front of {@link plans}, and last the given plan. */
  readonly followed: readonly FollowedPlan[];
  /** True if all op times are estimates of a roofline model. */
  readonly hasEstimatedTimes: boolean;
  /** True if {@link ReportData.planned} differs from the step that is shown. */
  readonly hasPlannedStep: boolean;
  /** Undefined if there is no other run. */
  readonly comparison: Comparison | undefined;
  /** Undefined without a sharding plan. */
  readonly fsdp: FsdpFindings | undefined;
  /** Undefined if the run was not recorded. */
  readonly leaks: LeakFindings | undefined;
  /** Lines over the timeline. Their values are in {@link ReportData.overlays}. */
  readonly overlays: readonly Overlay[];
  /**
   * The step as it is, followed by answers for another batch, optimizer, device and so on, or empty if not requested.
   */
  readonly whatIfs: readonly WhatIfRow[];
}
