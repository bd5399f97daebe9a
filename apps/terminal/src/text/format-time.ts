import { type TimeFormat, timeFormat } from "@remat/reporting";
import type { Trace } from "@remat/trace";

/**
 * Returns a formatter for the times of a trace, with as many digits as their quality allows. The texts have at most nine
 * characters. Values below a nanosecond are marked as such.
 */
export function timeFormatOf(trace: Trace): TimeFormat {
  const format = timeFormat(trace);
  return (ms) => {
    const ns = ms * 1e6;
    if (!(ns > 0 && ns < 999.5)) return format(ms);
    return ns < 1 ? "< 1 ns" : `${Number(ns.toPrecision(3))} ns`;
  };
}
