import { isMainThread } from "node:worker_threads";
import { heapReportName } from "../../running-step.js";
import type { ThreadReporter } from "../thread-reporter.js";

/**
 * Has Node write a report where V8's heap is at its limit, after which no JavaScript runs; unless the program has one written itself. A worker ends by an error that its
 * parent is told.
 */
export function reportHeapLimit(reporter: Pick<ThreadReporter, "io">): void {
  const { report } = process;
  if (!isMainThread || report === undefined || report.reportOnFatalError) return;
  const path = reporter.io.pathFor(heapReportName);
  if (path === undefined) return;
  report.reportOnFatalError = true;
  report.filename = path;
}
