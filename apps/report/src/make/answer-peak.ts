import { tellsLifetimes } from "@remat/memory";
import { StepFacts } from "@remat/memory/sequence";
import { answerFirst } from "@remat/reporting/answers";
import { heldRow, heldTree, heldTreeRows, openLargest } from "@remat/reporting/held-tree";
import type { Verdict } from "@remat/reporting/verdict";
import type { Trace } from "@remat/trace";
import type { PlanFindings, ReportMeta } from "../data/report-meta.js";

/** Maximum number of rows shown without JavaScript. */
const rowsAtRest = 24;

/** Returns the first answers about a run, and the rows of its live memory that are shown without JavaScript. */
export function answerPeak(
  trace: Trace,
  verdict: Verdict | undefined,
  plans: PlanFindings | undefined,
): Pick<ReportMeta, "answers" | "heldRows"> {
  if (!tellsLifetimes(trace))
    return { answers: answerFirst(trace, { verdict, tree: undefined, idle: undefined }), heldRows: [] };
  const facts = new StepFacts(trace);
  const tree = heldTree(trace, facts.storagesAtPeak);
  const { ids, depths, parents } = heldTreeRows(tree, openLargest(tree, rowsAtRest));
  return {
    answers: answerFirst(trace, {
      verdict,
      tree,
      idle: facts.idle,
      plans: plans?.recommended,
    }),
    heldRows: Array.from(ids, (id, i) => heldRow(tree, id, depths[i], parents[i])),
  };
}
