export { type FollowedColumns, type ReportData, reportFormat } from "./data/report-file.js";
export type {
  Comparison,
  FollowedPlan,
  FsdpFindings,
  Overlay,
  PlanFindings,
  ReportMeta,
} from "./data/report-meta.js";
export { extractReport } from "./extract-report.js";
export { type MakeReportOptions, makeReport } from "./make/make-report.js";
export { planAsTrace } from "./make/plan-as-trace.js";
export { type RenderFitOptions, renderFit } from "./render-fit.js";
export { renderReport } from "./render-report.js";
