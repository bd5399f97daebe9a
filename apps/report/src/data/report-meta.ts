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
  readonly key: string;
  readonly label: string;
  readonly kind: "plan" | "measured" | "other" | "fsdp";
  readonly peakBytes: number;
  /** What it stands for, in a sentence. */
  readonly note: string;
  /** Whether it was asked for, and is there from the start. */
  readonly isGiven: boolean;
}

/** A plan of the whole step that the page can follow. */
export interface FollowedPlan extends PlanChoice {
  /** What a file that was given is called; empty for one that was found when the report was made. */
  readonly name: string;
  /** How many times ops are recomputed. */
  readonly recomputations: number;
}

/** What planning the whole step answered. */
export interface PlanFindings {
  /** Whether they are policies for `torch.utils.checkpoint`. */
  readonly isForTorch: boolean;
  /** Of the trace as it was recorded, and of running every op once, everything freed after its last use. */
  readonly recordedPeakBytes: number;
  readonly plainPeakBytes: number;
  /** By falling peak: more time always buys memory. */
  readonly front: readonly FollowedPlan[];
  /** At no cost, at most 5 % and at most 20 % more time. */
  readonly recommended: readonly RecommendedPlan[];
}

/** The other side of a comparison: `this` is before, `name` after. */
export interface Comparison {
  readonly name: string;
  readonly isMeasured: boolean;
  readonly view: CompareView;
}

/** What is to be said of sharding. */
export interface FsdpFindings {
  readonly plan: string;
  readonly worldSize: number;
  readonly peakBytes: number;
  readonly bytesByCategory: Readonly<Record<string, number>>;
}

/** What outlives the steps of the run. */
export interface LeakFindings {
  readonly facts: readonly string[];
  readonly rows: readonly LeaksRow[];
}

/** What a report holds besides the trace; plain data, the same that a script gets from `--extract`. */
export interface ReportMeta {
  readonly title: string;
  /** What kind of input it was made from. */
  readonly from: "model" | "trace" | "plan";
  readonly summary: ReportSummary;
  /** Whether the step fits the device that it is meant for; undefined where the run does not tell, or no device was named. */
  readonly verdict: Verdict | undefined;
  /** What is asked first: does it fit, what holds the peak, what is free to gain, what to type. */
  readonly answers: readonly Answer[];
  /** The largest groups of what is held at the peak, as rows of a tree; none where that is not known. */
  readonly heldRows: readonly HeldRow[];
  readonly environment: readonly EnvironmentGroup[];
  readonly plans: PlanFindings | undefined;
  /** Why there are none. */
  readonly noPlans: string | undefined;
  /** Of {@link ReportData.followed}: the front of {@link plans}, and last the plan that was given. */
  readonly followed: readonly FollowedPlan[];
  /** Whether {@link ReportData.planned} is another step than the one that is shown. */
  readonly hasPlannedStep: boolean;
  readonly comparison: Comparison | undefined;
  readonly fsdp: FsdpFindings | undefined;
  /** Undefined of a run that was not recorded. */
  readonly leaks: LeakFindings | undefined;
  readonly overlays: readonly Overlay[];
  /** What would be with another batch, optimizer, device and so on, after the step as it is; empty where that was not asked. */
  readonly whatIfs: readonly WhatIfRow[];
}
