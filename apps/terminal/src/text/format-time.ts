import { formatMs } from "@remat/reporting";

/** Formats milliseconds in at most nine characters. Values below a nanosecond are marked as such. */
export function formatTime(ms: number): string {
  const ns = ms * 1e6;
  if (!(ns > 0 && ns < 999.5)) return formatMs(ms);
  return ns < 1 ? "< 1 ns" : `${Number(ns.toPrecision(3))} ns`;
}
