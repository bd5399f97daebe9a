import { tickStep, ticks } from "d3-array";

const units = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

/** Returns round values on an axis of bytes from 0 to `maximum`, with labels in one unit. */
export function byteTicks(maximum: number, count = 5): readonly (readonly [bytes: number, label: string])[] {
  const power = maximum <= 0 ? 0 : Math.min(units.length - 1, Math.floor(Math.log(maximum) / Math.log(1024) + 0.02));
  const unit = 1024 ** Math.max(0, power);
  const most = Math.max(1e-9, maximum / unit);
  const decimals = Math.max(0, -Math.floor(Math.log10(tickStep(0, most, count))));
  const format = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  return ticks(0, most, count).map((value) => [
    value * unit,
    `${value.toLocaleString("en", format)} ${units[Math.max(0, power)]}`,
  ]);
}
