import { formatMs, formatPercent } from "@remat/reporting";
import { formatTable } from "@remat/text-table";
import type { RunDifference, ValueDifference } from "./compare-runs.js";
import type { RunSummary } from "./run-summary.js";
import type { Verification } from "./verify-run.js";

export const runFormats = ["table", "json"] as const;

/** Predicted beside measured, as text for people or as JSON in bytes and milliseconds. */
export function renderRun(summary: RunSummary, format: (typeof runFormats)[number]): string {
  if (format === "json") return `${JSON.stringify(summary, numbersAsText, 2)}\n`;
  const { verification } = summary;
  return `${[
    heading(summary),
    figures(summary),
    `Held at the peak, by category\n\n${categories(summary)}`,
    `loss: ${summary.losses.map((loss) => Number(loss.toPrecision(6))).join(", ")}`,
    ...(verification === undefined ? [] : [describeVerification(verification)]),
  ].join("\n\n")}\n`;
}

/** JSON has no NaN and no infinities: a loss that is one is told as text. */
function numbersAsText(_key: string, value: unknown): unknown {
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
}

function heading({ model, batch, steps, backend, notes, wanted, budgetBytes }: RunSummary): string {
  const how = {
    stock: "as they are",
    "early-release": "with early release",
    budget: `within ${megabytes(budgetBytes ?? 0)}`,
    overhead: `in ${megabytes(budgetBytes ?? 0)}`,
    plan: "after the plan given",
  }[wanted];
  return [
    `${model}, batch ${batch}: ${steps} step${steps === 1 ? "" : "s"} ${how}`,
    `on ${backend}`,
    ...notes.map((note) => `note: ${note}`),
  ].join("\n");
}

function figures({ stock, predicted, measured, restingBytes }: RunSummary): string {
  const ofStock = (bytes: number) => formatPercent(bytes / stock.peakBytes);
  const apart = measured.peakBytes - predicted.peakBytes;
  const rows = [
    [
      "peak",
      megabytes(predicted.peakBytes),
      megabytes(measured.peakBytes),
      ofStock(measured.peakBytes),
      apart === 0 ? "equal to the byte" : `${apart > 0 ? "+" : "-"}${Math.abs(apart)} B`,
    ],
    [
      "peak over weights and batch",
      megabytes(predicted.peakBytes - restingBytes),
      megabytes(measured.peakBytes - restingBytes),
      formatPercent((measured.peakBytes - restingBytes) / (stock.peakBytes - restingBytes)),
      "",
    ],
    ["resident memory", "", megabytes(measured.residentBytes), "", "above that of the loaded process"],
    [
      "step time",
      formatMs(predicted.stepMs),
      formatMs(measured.stepMs),
      "",
      `${signedPercent(measured.stepMs / predicted.stepMs - 1)}; ${formatMs(measured.cpuMs)} of CPU`,
    ],
    ["ops", String(predicted.ops), String(measured.ops), "", ""],
    [
      "recomputed ops",
      String(predicted.recomputedOps),
      String(measured.recomputedOps),
      "",
      measured.recomputedOnTouch > 0 ? `${measured.recomputedOnTouch} of them against the plan` : "",
    ],
  ];
  return formatTable(rows, { headers: ["", "Predicted", "Measured", "Of stock", ""], format: "rst" });
}

function categories({ predicted, measured }: RunSummary): string {
  const names = new Set([...Object.keys(predicted.bytesByCategory), ...Object.keys(measured.bytesByCategory)]);
  const rows = [...names].map((name) => [
    name,
    megabytes(predicted.bytesByCategory[name] ?? 0),
    megabytes(measured.bytesByCategory[name] ?? 0),
  ]);
  return formatTable(rows, { headers: ["Category", "Predicted", "Measured"], format: "rst" });
}

/** What the comparison with stock came to, in a sentence or several. */
export function describeVerification(verification: Verification): string {
  const { steps, tensors, isEqual, stockDiffers, difference, values } = verification;
  const lines = [];
  if (stockDiffers !== undefined)
    lines.push(
      `verify: stock differs from itself: ${describePlace(stockDiffers)}. From there on nothing can be compared.`,
    );
  if (isEqual)
    lines.push(
      `verify: equal to stock bit for bit${stockDiffers === undefined ? "" : " until then"}: ${steps} losses and ${tensors} gradients and weights over ${steps} steps.`,
    );
  else if (difference !== undefined)
    lines.push(
      `verify: DIFFERS from stock: ${describePlace(difference)}${values ? `, ${describeValues(values)}` : ""}.`,
    );
  return lines.join("\n");
}

function describePlace(place: RunDifference): string {
  const when = `in step ${place.step + 1}`;
  switch (place.kind) {
    case "loss":
      return `the loss ${when} is ${place.found}, expected ${place.expected}`;
    case "missing":
      return `only one of the runs has ${place.name} ${when}`;
    case "gradient":
      return `the gradient of ${place.name} ${when}`;
    case "weight":
      return `the weight ${place.name} after step ${place.step + 1}`;
  }
}

function describeValues(values: ValueDifference): string {
  const { differing, elements, maxAbsDifference, index, expected, found } = values;
  if (differing === 0) return "though not when run again";
  return `${differing} of ${elements} elements, by at most ${maxAbsDifference.toPrecision(3)}; element ${index} is ${found}, expected ${expected}`;
}

/** Decimal, as budgets are given. */
function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(bytes < 10e6 ? 3 : 1)} MB`;
}

function signedPercent(fraction: number): string {
  return `${fraction < 0 ? "-" : "+"}${formatPercent(Math.abs(fraction))}`;
}
