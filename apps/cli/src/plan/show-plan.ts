import type { HeldPeak } from "@remat/memory";
import { type SizeUnit, summarizePlan } from "@remat/reporting";
import { type PlanFront, type PlanSection, planDocument } from "@remat/reporting/documents";
import { type OutputFormat } from "@remat/reporting/formats";
import { type Verdict } from "@remat/reporting/verdict";
import type { Plan, Trace } from "@remat/trace";
import { type TerminalText } from "@remat/trace/emit";
import type { ConsoleIo } from "../console-io.js";
import { withVerdictFirst } from "../verdict/show-verdict.js";
import { unrecomputedPlan } from "./unrecomputed-plan.js";

/** How a plan is shown. */
export interface Shown {
  readonly format: OutputFormat;
  readonly depth: number;
  readonly limit: number;
  readonly units: SizeUnit;
}

/** A plan of a training step, with its method's output. */
export interface FoundPlan {
  readonly plan: Plan;
  /** The trace that it was made for. */
  readonly trace: Trace;
  readonly notes: readonly string[];
  readonly front?: PlanFront | undefined;
  readonly sections?: readonly PlanSection[];
  /** The checkpointed modules, if the method chose modules. */
  readonly checkpointed?: readonly string[] | undefined;
  /** True if the budget applies to the memory that modules store, not to the step's peak. */
  readonly isByModule?: boolean;
}

/** Further information to show. */
export interface ShownBeside {
  readonly pricedFor: string;
  /** The baseline step, if the planned one has different gradients. */
  readonly stock: Trace | undefined;
  /** The step's memory with early release, for a model. */
  readonly earlyRelease: HeldPeak | undefined;
  readonly verdict: Verdict | undefined;
  readonly io: ConsoleIo;
}

/** Returns the text for a plan. Sections can be added. */
export async function showPlan(
  { plan, trace, notes, front, sections, isByModule }: FoundPlan,
  { format, depth, limit, units }: Shown,
  { pricedFor, stock, earlyRelease, verdict, io }: ShownBeside,
): Promise<(...more: readonly PlanSection[]) => TerminalText> {
  const unrecomputed = await unrecomputedPlan(trace);
  const summary = summarizePlan(plan, trace, { unrecomputed, stock, earlyRelease, pricedFor, depth, limit });
  return (...more) =>
    withVerdictFirst(
      planDocument(summary, {
        notes,
        units,
        sections: [...(sections ?? []), ...more],
        isByPeak: isByModule !== true,
        front,
      }),
      verdict,
      format,
      io,
    );
}
