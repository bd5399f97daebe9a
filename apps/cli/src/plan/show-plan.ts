import { type OutputFormat, type PlanFront, type PlanSection, planDocument, summarizePlan } from "@remat/reporting";
import type { Plan, Trace } from "@remat/trace";
import { earlyReleasePlan } from "./early-release-plan.js";

/** How a plan is shown. */
export interface Shown {
  readonly format: OutputFormat;
  readonly depth: number;
  readonly limit: number;
}

/** A plan of a training step, with what its method has to say. */
export interface FoundPlan {
  readonly plan: Plan;
  /** What it is of. */
  readonly trace: Trace;
  readonly notes: readonly string[];
  readonly front?: PlanFront;
  readonly sections?: readonly PlanSection[];
  /** The modules that are checkpointed, where the method chose modules. */
  readonly checkpointed?: readonly string[];
  /** Whether the budget is of what modules store, and not of the step's peak. */
  readonly isByModule?: boolean;
}

/** Returns the text for a plan, to which sections can be added. */
export async function showPlan(
  { plan, trace, notes, front, sections, isByModule }: FoundPlan,
  { format, depth, limit }: Shown,
  pricedFor: string,
): Promise<(...more: readonly PlanSection[]) => string> {
  const earlyRelease = await earlyReleasePlan(trace);
  const summary = summarizePlan(plan, trace, { earlyRelease, pricedFor, depth, limit });
  return (...more) =>
    format.write(
      planDocument(summary, {
        notes,
        sections: [...(sections ?? []), ...more],
        isByPeak: isByModule !== true,
        ...(front && { front }),
      }),
    );
}
