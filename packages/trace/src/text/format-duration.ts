import { formatNumber } from "./format-number.js";

const units = [
  ["year", 31_557_600_000],
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
] as const;

/**
 * Formats a duration in its largest unit, from seconds to years, with a minimum of one second.
 *
 * @param ms the duration in milliseconds
 * @example
 * formatDuration(7_300_000); // "2 hours"
 */
export function formatDuration(ms: number): string {
  const [unit, of] = units.find(([, length]) => ms >= length) ?? ["second", 1000];
  const count = Math.max(1, Math.round(ms / of));
  return `${formatNumber(count)} ${unit}${count === 1 ? "" : "s"}`;
}
