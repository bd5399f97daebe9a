export { type MakeReportOptions, makeReport } from "../make/make-report.js";
export { renderReportInPage } from "./render-report-in-page.js";
