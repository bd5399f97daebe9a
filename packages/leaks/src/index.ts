export { describeLeaks, type LeakSubject } from "./describe-leaks.js";
export {
  expectNoLeaks,
  findLeaks,
  type LeakRuns,
  leakMatchers,
  type MatcherResult,
} from "./expect-no-leaks.js";
export { type HeapCensus, heapCensus, type TakeCensus } from "./heap-census.js";
export {
  growing,
  type LeakMaker,
  type LeakOrigin,
  type LeakReport,
  type LineEstimates,
  type PossibleLine,
} from "./leak-report.js";
export { LeakWatch, type LeakWatchOptions } from "./leak-watch.js";
export type { LineEstimate } from "./line-estimate.js";
export { markPeriod, onMarkedPeriod } from "./mark-period.js";
export type { ProcessGrowth } from "./process-growth.js";
export { type ReadSite, type SourceSite, type StackFrame, siteOfFrames } from "./source-site.js";
export type { StackLimits } from "./stacks.js";
