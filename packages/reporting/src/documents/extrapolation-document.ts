import type { CategoryName } from "@remat/trace";
import { categoryStack, labelCategory } from "../category-colours.js";
import { describeMaker, describeShape } from "../describe-held.js";
import { formatPercent } from "../format-quantity.js";
import type { DocumentPart, OutputDocument } from "../formats/output-document.js";
import { type SizeFormat, type SizeUnit, sizeFormat } from "../size-unit.js";
import type { ExtrapolationSummary } from "../summarize-extrapolation.js";
import { labelDevice } from "../verdict/label-device.js";

const growths = ["constant", "linear", "quadratic"] as const;

/**
 * Returns a step's predicted memory at other sizes: the largest size that fits, a row for each size, and how each part
 * grows. The records are the same rows in bytes.
 */
export function extrapolationDocument(
  summary: ExtrapolationSummary,
  { units = "auto", device }: { readonly units?: SizeUnit; readonly device?: string | undefined } = {},
): OutputDocument {
  const size = sizeFormat(units);
  return {
    parts: () => [
      { kind: "text", lines: describeExtrapolation(summary, size, device) },
      sizesTable(summary, size),
      growthTable(summary, size),
    ],
    records: () => ({
      columns: ["size", "origin", "peakBytes", "fits", "constantBytes", "lineBytes", "squareBytes"],
      rows: summary.outcomes.map(({ size: at, origin, peakBytes, byGrowth }) => [
        at,
        origin,
        peakBytes,
        summary.memoryBytes === undefined ? "" : String(peakBytes <= summary.memoryBytes),
        ...byGrowth,
      ]),
    }),
    value: () => valueOf(summary),
  };
}

function describeExtrapolation(summary: ExtrapolationSummary, size: SizeFormat, device?: string): readonly string[] {
  const { model, longest, memoryBytes, extrapolation, outcomes, checked, notes } = summary;
  const { varying, fitted, degrees, irregular, residualBytes } = extrapolation;
  const limit =
    memoryBytes === undefined ? "" : `${size(memoryBytes)}${device === undefined ? "" : ` (${labelDevice(device)})`}`;
  const side =
    varying.shape === undefined ? "as given" : `side ${varying.side} of ${varying.dtype} [${varying.shape.join(", ")}]`;
  const farthest = outcomes[outcomes.length - 1].size / Math.max(...varying.sizes);
  return [
    memoryBytes === undefined
      ? `${model}: peak memory at other sizes`
      : longest === undefined
        ? `${model}: no size fits ${limit}`
        : `${model}: the largest size that fits ${limit} is ${longest.isSearchLimit ? `at least ${longest.size} (search limit)` : longest.size}, with a peak of ${size(longest.peakBytes)}`,
    `from runs at ${fitted.map((run) => run.size).join(", ")} (${side}); ${degrees.filter((degree) => degree === 1).length} of ${degrees.length} storages grow linearly and ${degrees.filter((degree) => degree === 2).length} quadratically`,
    irregular.length === 0
      ? "every storage follows exactly in these runs: off by 0 B"
      : `${irregular.length} storages follow neither: in these runs they are off by at most ${size(residualBytes)} together`,
    ...checked.map(
      ({ name, size: at, recordedBytes, predictedBytes }) =>
        `checked with ${name} at ${at}: ${recordedBytes === predictedBytes ? "off by 0 B" : `off by ${size(Math.abs(predictedBytes - recordedBytes))} of ${size(recordedBytes)}`}`,
    ),
    ...(fitted.length === 2 ? ["two runs show linear growth only; a third run would check it"] : []),
    ...(farthest > 1
      ? [
          `the largest prediction is ${Number(farthest.toPrecision(3))} times the largest run, where other kernels may run that need other memory`,
        ]
      : []),
    ...notes.map((note) => `note: ${note}`),
  ];
}

function sizesTable({ outcomes, memoryBytes }: ExtrapolationSummary, size: SizeFormat): DocumentPart {
  const held = (category: CategoryName): number =>
    Math.max(...outcomes.map(({ bytesByCategory }) => bytesByCategory[category] ?? 0));
  const categories = categoryStack.filter((category) => held(category) > 0).sort((a, b) => held(b) - held(a));
  return {
    kind: "table",
    title: "Peak memory by size",
    headers: [
      "Size",
      "Source",
      "Peak",
      ...(memoryBytes === undefined ? [] : ["Fits"]),
      ...categories.map(labelCategory),
    ],
    worth: [100, 90, 99, ...(memoryBytes === undefined ? [] : [98]), ...categories.map((_, i) => 80 - i)],
    rows: outcomes.map(({ size: at, origin, peakBytes, bytesByCategory, isSearchLimit }) => [
      String(at),
      origin !== "longest" ? origin : isSearchLimit ? "predicted, fits (search limit)" : "predicted, largest that fits",
      size(peakBytes),
      ...(memoryBytes === undefined ? [] : [peakBytes <= memoryBytes ? "yes" : "no"]),
      ...categories.map((category) => size(bytesByCategory[category] ?? 0)),
    ]),
  };
}

function growthTable(
  { moment, extrapolation, outcomes, longest }: ExtrapolationSummary,
  size: SizeFormat,
): DocumentPart {
  const told = longest ?? outcomes[outcomes.length - 1];
  const shares = told.byGrowth
    .map((bytes, degree) => `${growths[degree]} ${formatPercent(bytes / told.peakBytes)}`)
    .reverse()
    .join(", ");
  return {
    kind: "table",
    title: `Largest storages at ${told.size}, by growth (${shares})`,
    headers: ["Size", "Growth", "Category", "Shape", "Allocated by", "Module"],
    worth: [9, 8, 5, 4, 7, 6],
    names: ["Module"],
    rows: moment.largest.map((storage) => [
      size(storage.bytes),
      growths[extrapolation.degrees[storage.storage]],
      labelCategory(storage.category),
      describeShape(storage),
      describeMaker(storage) ?? (storage.owner === undefined ? "(no op)" : "(a weight)"),
      storage.owner ?? storage.maker?.module ?? "",
    ]),
  };
}

function valueOf({
  model,
  runs,
  extrapolation,
  outcomes,
  longest,
  memoryBytes,
  checked,
  notes,
}: ExtrapolationSummary): unknown {
  const { varying, fitted, irregular, residualBytes } = extrapolation;
  return {
    model,
    runs,
    varying,
    fittedSizes: fitted.map((run) => run.size),
    irregularStorages: irregular.length,
    residualBytes,
    checked,
    memoryBytes: memoryBytes ?? null,
    longest: longest?.size ?? null,
    outcomes: outcomes.map(({ byGrowth: [constantBytes, lineBytes, squareBytes], ...outcome }) => ({
      ...outcome,
      constantBytes,
      lineBytes,
      squareBytes,
    })),
    notes,
  };
}
