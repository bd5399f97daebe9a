import { isMainThread } from "node:worker_threads";
import { heapReportName } from "../../running-step.js";
import type { ThreadReporter } from "../thread-reporter.js";

/**
 * Makes Node write a report when V8's heap reaches its limit, after which no JavaScript runs. Does nothing if the
 * program already configures such a report. A worker ends with an error that its parent receives.
 */
export function reportHeapLimit(reporter: Pick<ThreadReporter, "io">): void {
  const { report } = process;
  if (!isMainThread || report === undefined || report.reportOnFatalError) return;
  const path = reporter.io.pathFor(heapReportName);
  if (path === undefined) return;
  report.reportOnFatalError = true;
  report.filename = path;
}
