import {
  accountSequence,
  holdPlan,
  type PlanMemory,
  sequenceGraphOfTrace,
  sequenceOfPlan,
} from "@remat/memory/sequence";
import { alignHighest, formatPercent, planFates } from "@remat/reporting";
import { type Plan, RematError, type Trace } from "@remat/trace";
import type { FollowedColumns } from "../data/report-file.js";
import type { Overlay } from "../data/report-meta.js";
import type { DrawnOverlay } from "./drawn-overlay.js";

/** A plan with the name of its file. */
interface NamedPlan {
  readonly name: string;
  readonly plan: Plan;
}

/** A plan for the run, as the report shows it. */
export interface GivenPlan {
  readonly memory: PlanMemory;
  readonly columns: FollowedColumns;
  /** The plan over the timeline, if it cannot be simulated op by op. */
  readonly overlay: DrawnOverlay | undefined;
}

/**
 * Returns a plan of the user's for a run.
 *
 * @param planned the step that the plan is for, if its ops differ from the run's
 * @throws RematError `REPORT_PLAN_MISMATCH` for a plan of another run
 */
export function givenPlan(trace: Trace, { name, plan }: NamedPlan, planned: Trace = trace): GivenPlan {
  if (plan.ops.length !== planned.ops.count || plan.subject.kind !== "trace")
    throw new RematError(
      "REPORT_PLAN_MISMATCH",
      `${name}: the plan is for ${plan.subject.kind === "trace" ? `a run of ${plan.ops.length} ops` : "a graph"}, ` +
        `and the run has ${planned.ops.count}. Name the run that was planned, with the same batch and loss.`,
    );
  const memory = holdPlan(planned, plan);
  const fates = planFates(planned, plan);
  const graph = sequenceGraphOfTrace(planned);
  const { nodes } = sequenceOfPlan(plan, graph);
  // A plan made for another backend or by hand may not free everything directly after its last use.
  const isFollowed = accountSequence(graph, nodes)?.peakBytes === memory.peakBytes;
  if (isFollowed) return { memory, columns: { sequence: nodes, fates }, overlay: undefined };
  const overlay: Overlay = {
    key: "plan",
    label: name,
    kind: "plan",
    peakBytes: plan.predicted.peakBytes,
    note: `predicted: ${formatPercent(plan.predicted.overhead)} more time than the unmodified step`,
    isGiven: true,
  };
  const { highestBytes } = memory;
  const shownBytes =
    planned === trace ? highestBytes : alignHighest(trace, planned, { totalBytes: highestBytes, highestBytes });
  return { memory, columns: { sequence: new Int32Array(0), fates }, overlay: { overlay, highestBytes: shownBytes } };
}
