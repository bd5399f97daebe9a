import type { ChangedPart, CheckedStep, MemoryCheck } from "../baseline/check-memory.js";
import { labelCategory } from "../category-colours.js";
import { formatPercent } from "../format-quantity.js";
import type { OutputDocument } from "../formats/output-document.js";
import { type SizeFormat, type SizeUnit, sizeFormat } from "../size-unit.js";

/**
 * Returns the result of a check against a baseline: a row for each step, and the parts that grew for steps that exceed
 * their limit. The records are the same rows in bytes.
 */
export function checkDocument(
  check: MemoryCheck,
  { units = "auto" }: { readonly units?: SizeUnit } = {},
): OutputDocument {
  const size = sizeFormat(units);
  const failed = check.steps.filter(({ passes }) => !passes);
  return {
    parts: () => [
      {
        kind: "text",
        lines: [
          check.passes ? "All steps are within their limits." : describeFailure(check),
          ...check.unknown.map((name) => `${name}: not in the baseline. Add it with remat check --update.`),
          ...check.other.map(
            ({ name, before, after }) => `${name}: not the step of the baseline: ${describeOther(before, after)}`,
          ),
        ],
      },
      {
        kind: "table",
        headers: ["Step", "Baseline", "Now", "Change", "Limit", ""],
        worth: [9, 6, 8, 7, 5, 9],
        rows: check.steps.map((step) => [
          step.name,
          size(step.beforeBytes),
          size(step.afterBytes),
          describeDifference(step),
          size(step.limitBytes),
          step.passes ? "ok" : "too much",
        ]),
      },
      ...failed.flatMap((step) => [
        partsTable(`${step.name}: growth by category`, step.categories, size, labelCategory),
        partsTable(`${step.name}: growth by module`, step.modules.slice(0, mostModules), size, String),
      ]),
    ],
    records: () => ({
      columns: ["step", "beforeBytes", "afterBytes", "limitBytes", "passes"],
      rows: check.steps.map(({ name, beforeBytes, afterBytes, limitBytes, passes }) => [
        name,
        beforeBytes,
        afterBytes,
        limitBytes,
        String(passes),
      ]),
    }),
    value: () => check,
  };
}

const mostModules = 10;

function partsTable(
  title: string,
  parts: readonly ChangedPart[],
  size: SizeFormat,
  label: (name: string) => string,
): { readonly kind: "table"; readonly title: string; readonly headers: string[]; readonly rows: string[][] } {
  const signed = (bytes: number): string => `${bytes < 0 ? "−" : "+"}${size(Math.abs(bytes))}`;
  return {
    kind: "table",
    title,
    headers: ["", "Baseline", "Now", "Change"],
    rows: parts.map(({ name, beforeBytes, afterBytes }) => [
      label(name),
      size(beforeBytes),
      size(afterBytes),
      signed(afterBytes - beforeBytes),
    ]),
  };
}

function describeFailure({ steps, unknown, other }: MemoryCheck): string {
  const failed = steps.filter(({ passes }) => !passes).length;
  const all = steps.length + unknown.length + other.length;
  return failed === 0
    ? `${unknown.length + other.length} of ${all} steps cannot be compared.`
    : `${failed} of ${all} steps ${failed === 1 ? "exceeds its limit" : "exceed their limits"}.`;
}

function describeDifference({ beforeBytes, afterBytes }: CheckedStep): string {
  const share = beforeBytes === 0 ? 0 : afterBytes / beforeBytes - 1;
  return `${share < 0 ? "−" : "+"}${formatPercent(Math.abs(share))}`;
}

/** Describes the settings that differ. */
function describeOther(before: string, after: string): string {
  const [was, is] = [before, after].map((text) => JSON.parse(text) as Readonly<Record<string, unknown>>);
  return [...new Set([...Object.keys(was), ...Object.keys(is)])]
    .filter((field) => JSON.stringify(was[field]) !== JSON.stringify(is[field]))
    .map(
      (field) => `${field} ${JSON.stringify(is[field]) ?? "left out"}, was ${JSON.stringify(was[field]) ?? "left out"}`,
    )
    .join("; ");
}
