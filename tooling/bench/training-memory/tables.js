import { formatTable } from "@remat/trace/text";
import { median } from "../src/measure.js";

const mb = (bytes) => `${(bytes / 1e6).toFixed(0)} MB`;
const percent = (fraction) => `${fraction < 0 ? "−" : "+"}${(100 * Math.abs(fraction)).toFixed(0)}%`;
const markdown = (headers, rows) => formatTable(rows, { headers, format: "markdown" });

const cell = ({ measuredBytes, wallMs }, limit) =>
  `${mb(measuredBytes)}${limit === undefined ? "" : ` (bound ${mb(limit)})`}, ${(wallMs / 1000).toFixed(2)} s`;

export const modelsTable = (results) =>
  markdown(
    ["Model", "Baseline", "Early release", "Planned within a bound", "Recomputed ops"],
    results.map(({ model: { title, bounds }, figures: { stock, early, planned } }) => [
      title,
      cell(stock),
      cell(early, bounds.early(stock.measuredBytes)),
      cell(planned, bounds.planned(stock.measuredBytes)),
      String(planned.recomputedOps),
    ]),
  );

const batchCell = ({ batch, fits }) => `${batch} (${mb(fits.resident)} resident)`;

export const batchesTable = (batches) =>
  markdown(
    ["Model", "Baseline", "Planned", "Times the baseline"],
    batches.map(({ model: { batchTitle }, largest: { stock, planned } }) => [
      batchTitle,
      batchCell(stock),
      batchCell(planned),
      (planned.batch / stock.batch).toFixed(1),
    ]),
  );

const howKept = { released: "by early release", planned: "by a plan", online: "online" };

export const trainingsTable = (rows) =>
  markdown(
    ["Strategy", "Baseline", "Budget", "Peak memory", "Kept", "Bitwise identical weights", "Step time"],
    rows.map(({ training, stockPeakBytes, budgetBytes, peakBytes, kind, isEqual, ratios }) => [
      training,
      mb(stockPeakBytes),
      mb(budgetBytes),
      mb(peakBytes),
      peakBytes <= budgetBytes ? howKept[kind] : "NO",
      isEqual ? "yes" : "NO",
      percent(median(ratios.wall) - 1),
    ]),
  );
