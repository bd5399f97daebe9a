import { formatEstimatedMs, formatMs, type TimeFormat } from "@remat/reporting";
import type { ReportMeta } from "./report-meta.js";

/** Returns a formatter for the times of the run that a report shows, with as many digits as their quality allows. */
export function timeFormatOf({ hasEstimatedTimes }: Pick<ReportMeta, "hasEstimatedTimes">): TimeFormat {
  return hasEstimatedTimes ? formatEstimatedMs : formatMs;
}
