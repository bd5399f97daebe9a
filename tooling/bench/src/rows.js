import { availableParallelism, loadavg } from "node:os";
import { formatTable } from "@remat/trace/text";

/** With more runnable processes than cores, wall time says more about the others than about this one. */
export const isBusy = () => loadavg()[0] > availableParallelism();

export const amount = (value, unit) =>
  value === undefined ? "" : `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${unit}`;

/**
 * Returns whether a row is within its bound: `yes`, `no`, or `busy` if only its CPU time is, on a busy machine. Empty if
 * it has no bound.
 */
export function verdict({ value, bound, cpu }, busy = isBusy()) {
  if (bound === undefined) return "";
  if (value <= bound) return "yes";
  return busy && cpu !== undefined && cpu <= bound ? "busy" : "no";
}

export function describeRow(row) {
  const { what, value, unit, cpu, theirs, bound, note } = row;
  const more = [
    cpu !== undefined && `${amount(cpu, unit)} of CPU`,
    theirs !== undefined && `PyTorch ${amount(theirs, unit)}, ${ratio(row)}`,
    bound !== undefined && `bound ${amount(bound, unit)}: ${verdict(row)}`,
    note,
  ].filter(Boolean);
  return `${what}: ${amount(value, unit)}${more.length > 0 ? ` (${more.join("; ")})` : ""}`;
}

/** @param {"rst" | "markdown"} [format] */
export function tableOf(rows, busy, format = "rst") {
  const headers = ["What", "Ours", "CPU", "Runs", "PyTorch", "Ratio", "Bound", "Met"];
  const cells = rows.map((row) => [
    row.what,
    amount(row.value, row.unit),
    amount(row.cpu, row.unit),
    row.runs === undefined ? "" : String(row.runs),
    amount(row.theirs, row.unit),
    ratio(row),
    row.bound === undefined ? "" : `≤ ${amount(row.bound, row.unit)}`,
    verdict(row, busy),
  ]);
  return formatTable(cells, { headers, format });
}

const ratio = ({ value, theirs }) => (theirs === undefined ? "" : `${(theirs / value).toFixed(1)}×`);

const times = (ratio) => `${ratio.toFixed(3)}×`;

export const describeRatio = ({ name, unit, before, now, ratio, spread }) =>
  `${name}: ${amount(before, unit)} before, ${amount(now, unit)} now, ${times(ratio)} (${spread.map(times).join(" to ")})`;

/**
 * A table of headlines beside those of another revision.
 *
 * @param {"rst" | "markdown"} [format]
 */
export function ratioTable(ratios, format = "rst") {
  const headers = ["Headline", "Before", "Now", "Ratio", "Quartiles", "Worse"];
  const cells = ratios.map(({ name, unit, before, now, ratio, spread, isWorse }) => [
    name,
    amount(before, unit),
    amount(now, unit),
    times(ratio),
    spread.map(times).join(" to "),
    isWorse ? "yes" : "",
  ]);
  return formatTable(cells, { headers, format });
}
