import { formatPercent } from "@remat/reporting";

/** Formats a fraction as `+5.0 %`, with a true minus sign. */
export function signed(fraction: number): string {
  if (fraction === 0) return "0 %";
  return `${fraction < 0 ? "−" : "+"}${formatPercent(Math.abs(fraction))}`;
}
