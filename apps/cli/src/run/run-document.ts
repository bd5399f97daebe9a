import {
  type Cell,
  formatMs,
  formatPercent,
  labelCategory,
  type SizeFormat,
  type SizeUnit,
  sizeFormat,
} from "@remat/reporting";
import { largestTable } from "@remat/reporting/documents";
import { type DocumentPart, type OutputDocument } from "@remat/reporting/formats";
import type { RunDifference, ValueDifference } from "./compare-runs.js";
import type { RunSummary } from "./run-summary.js";
import type { Verification } from "./verify-run.js";

/** Returns the results of `remat run`, predicted next to measured. The records have one row for each figure. */
export function runDocument(summary: RunSummary, units?: SizeUnit): OutputDocument {
  const size = sizeFormat(units);
  const {
    losses,
    verification,
    measured: { moment },
  } = summary;
  return {
    parts: () => [
      { kind: "text", lines: heading(summary, size) },
      figures(summary, size),
      categories(summary, size),
      ...(moment === undefined ? [] : [largestTable(moment, size)]),
      { kind: "text", lines: [`loss: ${losses.map((loss) => Number(loss.toPrecision(6))).join(", ")}`] },
      ...(verification === undefined
        ? []
        : [{ kind: "text" as const, lines: describeVerification(verification).split("\n") }]),
    ],
    records: () => ({ columns: ["figure", "predicted", "measured"], rows: figureRecords(summary) }),
    value: () => JSON.parse(JSON.stringify(summary, numbersAsText)),
  };
}

function figureRecords({ predicted, measured, restingBytes, losses, verification }: RunSummary): Cell[][] {
  return [
    ["peakBytes", predicted.peakBytes, measured.peakBytes],
    ["peakBytesOverResting", predicted.peakBytes - restingBytes, measured.peakBytes - restingBytes],
    ...categoryNames(predicted, measured).map((name) => [
      `peakBytes of ${name}`,
      predicted.bytesByCategory[name] ?? 0,
      measured.bytesByCategory[name] ?? 0,
    ]),
    ["residentBytes", undefined, measured.residentBytes],
    ["stepMs", predicted.stepMs, measured.stepMs],
    ["cpuMs", undefined, measured.cpuMs],
    ["ops", predicted.ops, measured.ops],
    ["recomputedOps", predicted.recomputedOps, measured.recomputedOps],
    ["recomputedOnTouch", undefined, measured.recomputedOnTouch],
    ...(measured.offloadedBytes === 0
      ? []
      : [
          ["offloadedBytes", undefined, measured.offloadedBytes],
          ["reloadedBytes", undefined, measured.reloadedBytes],
        ]),
    ...losses.map((loss, step) => [`loss of step ${step + 1}`, undefined, loss]),
    ...(verification === undefined ? [] : [["equal to stock", true, verification.isEqual]]),
  ];
}

/** JSON has no NaN or infinity, so such a loss is written as text. */
function numbersAsText(_key: string, value: unknown): unknown {
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
}

function heading(
  { model, batch, steps, backend, notes, wanted, budgetBytes }: RunSummary,
  size: SizeFormat,
): readonly string[] {
  const how = {
    stock: "unmodified",
    "early-release": "with early release",
    budget: `within ${size(budgetBytes ?? 0)}`,
    overhead: `in ${size(budgetBytes ?? 0)}`,
    plan: "following the given plan",
  }[wanted];
  return [
    `${model}, batch ${batch}: ${steps} step${steps === 1 ? "" : "s"} ${how}`,
    `on ${backend}`,
    ...notes.map((note) => `note: ${note}`),
  ];
}

function figures({ stock, predicted, measured, restingBytes }: RunSummary, size: SizeFormat): DocumentPart {
  const ofStock = (bytes: number) => formatPercent(bytes / stock.peakBytes);
  const apart = measured.peakBytes - predicted.peakBytes;
  const rows = [
    [
      "peak memory",
      size(predicted.peakBytes),
      size(measured.peakBytes),
      ofStock(measured.peakBytes),
      apart === 0 ? "exact" : `${apart > 0 ? "+" : "-"}${Math.abs(apart)} B`,
    ],
    [
      "peak above weights and batch",
      size(predicted.peakBytes - restingBytes),
      size(measured.peakBytes - restingBytes),
      formatPercent((measured.peakBytes - restingBytes) / (stock.peakBytes - restingBytes)),
      "",
    ],
    ["resident memory", "", size(measured.residentBytes), "", "growth since the process was loaded"],
    [
      "step time",
      formatMs(predicted.stepMs),
      formatMs(measured.stepMs),
      "",
      `${signedPercent(measured.stepMs / predicted.stepMs - 1)}; ${formatMs(measured.cpuMs)} of CPU time`,
    ],
    ["ops", String(predicted.ops), String(measured.ops), "", ""],
    [
      "recomputed ops",
      String(predicted.recomputedOps),
      String(measured.recomputedOps),
      "",
      measured.recomputedOnTouch > 0 ? `${measured.recomputedOnTouch} of them unplanned` : "",
    ],
    ...(measured.offloadedBytes === 0
      ? []
      : [["offloaded", "", size(measured.offloadedBytes), "", `${size(measured.reloadedBytes)} reloaded`]]),
  ];
  return {
    kind: "table",
    headers: ["", "Predicted", "Measured", "Of baseline", "Difference"],
    worth: [9, 8, 8, 6, 7],
    rows,
  };
}

function categories({ predicted, measured }: RunSummary, size: SizeFormat): DocumentPart {
  return {
    kind: "table",
    title: "Peak memory by category",
    headers: ["Category", "Predicted", "Measured"],
    rows: categoryNames(predicted, measured).map((name) => [
      labelCategory(name),
      size(predicted.bytesByCategory[name] ?? 0),
      size(measured.bytesByCategory[name] ?? 0),
    ]),
  };
}

function categoryNames(...held: readonly Pick<RunSummary["predicted"], "bytesByCategory">[]): readonly string[] {
  return [...new Set(held.flatMap(({ bytesByCategory }) => Object.keys(bytesByCategory)))];
}

/** Describes the result of the comparison with the baseline in one or more sentences. */
export function describeVerification(verification: Verification): string {
  const { steps, tensors, isEqual, stockDiffers, difference, values } = verification;
  const lines = [];
  if (stockDiffers !== undefined)
    lines.push(`verify: two baseline runs differ: ${describePlace(stockDiffers)}. Nothing after that can be compared.`);
  if (isEqual)
    lines.push(
      `verify: bitwise identical to the baseline${stockDiffers === undefined ? "" : " until then"}: ` +
        `${steps} losses and ${tensors} gradients and weights over ${steps} steps.`,
    );
  else if (difference !== undefined)
    lines.push(
      `verify: DIFFERS from the baseline: ${describePlace(difference)}${values ? `, ${describeValues(values)}` : ""}.`,
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
  if (differing === 0) return "but not in a second run";
  return `${differing} of ${elements} elements, by at most ${maxAbsDifference.toPrecision(3)}; element ${index} is ${found}, expected ${expected}`;
}

function signedPercent(fraction: number): string {
  return `${fraction < 0 ? "-" : "+"}${formatPercent(Math.abs(fraction))}`;
}
