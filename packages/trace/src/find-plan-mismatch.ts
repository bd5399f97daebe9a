import { opOccurrences } from "./op-occurrences.js";
import type { Plan } from "./plan.js";
import type { Trace } from "./trace.js";

export interface PlanMismatch {
  /** The first op that is not as planned. */
  readonly op: number;
  /** Its occurrence in the plan and in the trace; undefined where there are no more ops. */
  readonly planned: string | undefined;
  readonly found: string | undefined;
}

/**
 * Where a plan first does not fit a trace; undefined where it fits.
 *
 * @example
 * const mismatch = findPlanMismatch(plan, trace);
 * if (mismatch) throw new Error(`op ${mismatch.op}: planned ${mismatch.planned}, found ${mismatch.found}`);
 */
export function findPlanMismatch(plan: Plan, trace: Trace): PlanMismatch | undefined {
  const found = opOccurrences(trace);
  const count = Math.max(found.length, plan.ops.length);
  for (let op = 0; op < count; op++)
    if (plan.ops[op] !== found[op]) return { op, planned: plan.ops[op], found: found[op] };
  return undefined;
}
