import { formatTable } from "@remat/trace/text";

const mb = (/** @type {number} */ bytes) => (bytes / 1e6).toFixed(0);

/**
 * Returns the table of the README: a row for each program, a column for each strategy.
 *
 * @param {readonly { name: string, runs: Readonly<Record<string, any>> }[]} measured
 */
export function programsTable(measured) {
  const ways = Object.keys(measured[0]?.runs ?? {});
  return formatTable(
    measured.map(({ name, runs }) => [name, ...ways.map((way) => cellOf(runs[way], runs["stock"]))]),
    {
      headers: ["Program", ...ways.map((way) => (way === "stock" ? "Baseline" : way[0].toUpperCase() + way.slice(1)))],
      format: "markdown",
    },
  );
}

/** Resident memory, in parentheses the part for tensors, and the time of a step. */
function cellOf(run, stock) {
  if (run.weights === undefined) return whyEnded(run.error ?? "no reason given");
  const accounted = run.executed === undefined ? "" : ` (${mb(run.executed.peakBytes)})`;
  const difference = run.weights === stock.weights ? "" : ", OTHER WEIGHTS";
  return `${mb(run.residentBytes)} MB${accounted}, ${run.stepMs.toFixed(0)} ms${difference}`;
}

/** For a rejected budget, the budget that would have been enough. For any other end, the last line of its message. */
function whyEnded(text) {
  const [, room] = /Raise the budget to \d+B \(([^)]+)\)/.exec(text) ?? [];
  if (room !== undefined) return `refused: room within ${room}`;
  const lines = text.split("\n").map((line) => line.trim());
  const said = lines.find((line) => /Error\b/.test(line)) ?? lines.filter(Boolean).at(-1) ?? "";
  return `ended: ${said.length > 120 ? `${said.slice(0, 119)}…` : said}`;
}
