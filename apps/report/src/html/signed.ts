import { formatChange } from "@remat/reporting";

/** Formats a change as `+5.0%`, with a true minus sign. */
export function signed(fraction: number): string {
  return formatChange(fraction).replace("-", "−");
}
