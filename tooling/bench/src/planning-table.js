import { formatTable } from "@remat/trace/text";

/** Bounds are rounded. A value that rounds to a bound meets it. */
const rounding = 5e-5;

/** Collects plans as rows of a table, and counts the bounds that they miss. */
export function planningTable() {
  const rows = [];
  let missed = 0;
  const check = (value, bound, show, tolerance = 0) => {
    if (bound === undefined) return show(value);
    const isMet = value <= bound + tolerance;
    if (!isMet) missed++;
    return `${show(value)} (${isMet ? "≤" : "MISSED"} ${show(bound)})`;
  };
  return {
    /** {name, nodes, order, budget, found, overheadBound?, gapBound?, cpuBound?, isLowest?} */
    add({ name, nodes, order, budget, found, overheadBound, gapBound, cpuBound, isLowest = false }) {
      const peak = (found.peakBytes / found.plain.peakBytes).toFixed(4);
      if (!found.isFeasible && (isLowest || overheadBound !== undefined)) missed++;
      rows.push([
        name,
        String(nodes),
        order,
        `${isLowest ? "lowest, " : ""}${Number(budget)}`,
        found.isFeasible ? peak : `${peak} (over)`,
        found.isFeasible
          ? check(found.overhead, overheadBound, percent, rounding)
          : found.isProvenInfeasible
            ? "infeasible"
            : "none found",
        found.isFeasible ? check(found.gap, gapBound, percent) : "",
        found.isFeasible ? percent(found.lowerBound / found.plain.cost - 1) : "",
        check(found.cpuS, cpuBound, seconds, 0.1),
        String(found.iterations),
      ]);
      console.error(`  ${rows.at(-1).join("  ")}`);
    },
    text: () =>
      formatTable(rows, {
        headers: ["Graph", "Nodes", "Order", "Budget", "Peak", "Overhead", "Gap", "Lower bound", "CPU s", "Iterations"],
      }),
    missed: () => missed,
  };
}

const percent = (fraction) => `${(100 * fraction).toFixed(3)}%`;
const seconds = (s) => s.toFixed(2);
