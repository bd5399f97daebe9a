import { median } from "../src/measure.js";
import { ratioWithUpperBound } from "./upper-bound.js";

const mb = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
const percent = (fraction) => `${(100 * fraction).toFixed(1)}%`;

/** A bound with its measurement, and whether it is met. On a busy machine, time bounds are checked against CPU time. */
const bound = (what, value, limit, show, isMet = value <= limit) => ({
  what,
  value: show(value),
  bound: `≤ ${show(limit)}`,
  isMet,
});

/** All checks of a model's figures. */
export function verdictsOf({ title, bounds }, { stock, early, planned }, isBusy) {
  const rows = [
    bound(`${title}: early release`, early.measuredBytes, bounds.early(stock.measuredBytes), mb),
    bound(`${title}: planned`, planned.measuredBytes, bounds.planned(stock.measuredBytes), mb),
    timeOver("early release", early, 0.03),
    timeOver("planned", planned, 0.15),
  ];
  for (const [name, run] of Object.entries({ stock, early, planned })) {
    const apart = Math.abs(run.predictedBytes - run.measuredBytes);
    rows.push({
      what: `${title}: ${name}, predicted peak beside measured`,
      value: `${apart} B apart`,
      bound: "equal",
      isMet: apart === 0,
    });
    rows.push(bound(`${title}: ${name}, resident`, run.residentBytes, run.allowedResidentBytes, mb));
    const off = run.predictedMs / run.wallMs - 1;
    rows.push(bound(`${title}: ${name}, predicted step time off by`, off, 0.1, percent, Math.abs(off) <= 0.1));
  }
  return rows;

  function timeOver(name, run, limit) {
    const wall = median(run.ratios.wall) - 1;
    const cpu = median(run.ratios.cpu) - 1;
    const over = isBusy ? Math.min(wall, cpu) : wall;
    return bound(`${title}: ${name}, step time over stock's`, over, limit, percent);
  }
}

/** A smaller budget never raises the measured peak. */
export function verdictsOfTradeOff({ title }, points) {
  const rises = points.filter((point, i) => i > 0 && point.measuredBytes > points[i - 1].measuredBytes).length;
  const apart = points.filter((point) => point.measuredBytes !== point.predictedBytes).length;
  const over = points.filter((point) => point.measuredBytes > point.budgetBytes).length;
  const none = (what, count) => ({
    what: `${title}, ${points.length} budgets: ${what}`,
    value: String(count),
    bound: "0",
    isMet: count === 0,
  });
  return [
    none("peak rises as the budget falls", rises),
    none("peak is not as predicted to the byte", apart),
    none("peak is above the budget", over),
  ];
}

/** Six times the baseline's batch in the same memory. */
export function verdictOfBatches({ batchTitle }, { stock, planned }) {
  return {
    what: `${batchTitle}: largest batch over stock's`,
    value: `${planned.batch} of ${stock.batch}`,
    bound: "≥ 6 times",
    isMet: planned.batch >= 6 * stock.batch,
  };
}

/** For every training method: within the budget, and the same weights. */
export function verdictsOfTrainings(rows) {
  return rows.flatMap(({ training, budgetBytes, peakBytes, stockPeakBytes, isEqual }) => [
    bound(`${training}: within its budget`, peakBytes, Math.min(budgetBytes, stockPeakBytes / 2), mb),
    { what: `${training}: weights`, value: isEqual ? "equal" : "differ", bound: "equal", isMet: isEqual },
  ]);
}

export function verdictOfHook({ title }, ratios, isBusy) {
  const wall = ratioWithUpperBound(ratios.wall);
  const cpu = ratioWithUpperBound(ratios.cpu);
  const { ratio, upperBound } = isBusy && cpu.upperBound < wall.upperBound ? cpu : wall;
  const { isMet } = bound("", upperBound, 1.03, percent);
  return {
    what: `${title}: hook installed, no plan, step time over stock's (${ratios.wall.length} pairs)`,
    value: `${percent(ratio - 1)}, at most ${percent(upperBound - 1)}`,
    bound: "≤ 3.0% with 95%",
    isMet,
  };
}
