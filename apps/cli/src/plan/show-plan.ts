import {
  type OutputFormat,
  type PlanFront,
  type PlanSection,
  planDocument,
  type SizeUnit,
  summarizePlan,
  type Verdict,
} from "@remat/reporting";
import type { Plan, Trace } from "@remat/trace";
import type { ConsoleIo } from "../console-io.js";
import { withVerdictFirst } from "../verdict/show-verdict.js";
import { earlyReleasePlan } from "./early-release-plan.js";

/** How a plan is shown. */
export interface Shown {
  readonly format: OutputFormat;
  readonly depth: number;
  readonly limit: number;
  readonly units: SizeUnit;
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
  { format, depth, limit, units }: Shown,
  {
    pricedFor,
    verdict,
    io,
  }: { readonly pricedFor: string; readonly verdict: Verdict | undefined; readonly io: ConsoleIo },
): Promise<(...more: readonly PlanSection[]) => string> {
  const earlyRelease = await earlyReleasePlan(trace);
  const summary = summarizePlan(plan, trace, { earlyRelease, pricedFor, depth, limit });
  return (...more) =>
    withVerdictFirst(
      planDocument(summary, {
        notes,
        units,
        sections: [...(sections ?? []), ...more],
        isByPeak: isByModule !== true,
        ...(front && { front }),
      }),
      verdict,
      format,
      io,
    );
}
