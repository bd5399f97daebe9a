import type { UnitSummary } from "@remat/sharding/compare";
import type { OutputDocument } from "../formats/output-document.js";
import { type SizeUnit, sizeFormat } from "../size-unit.js";

/**
 * Returns the time spans in which each FSDP unit has its parameters all-gathered, one row for each span. The records
 * are the same rows in bytes.
 */
export function unitsDocument(
  units: readonly UnitSummary[],
  { units: unit = "auto" }: { readonly units?: SizeUnit } = {},
): OutputDocument {
  const size = sizeFormat(unit);
  const atPeak = units.filter(({ isGatheredAtPeak }) => isGatheredAtPeak);
  const bytes = atPeak.reduce((sum, { gatheredBytes }) => sum + gatheredBytes, 0);
  const name = ({ modules }: UnitSummary): string => modules.join(" + ");
  return {
    parts: () => [
      {
        kind: "text",
        lines: [
          atPeak.length === 0
            ? "No unit is unsharded at the peak."
            : `Unsharded at the peak: ${atPeak.map(name).join(", ")}, ${size(bytes)}.`,
        ],
      },
      {
        kind: "table",
        headers: ["Unit", "Shard", "Unsharded", "From op", "To op", "From", "Until"],
        worth: [9, 3, 8, 5, 5, 7, 6],
        rows: units.flatMap((each) =>
          each.spans.map(({ fromOp, toOp, from, to }, i) => [
            i === 0 ? name(each) : "",
            i === 0 ? size(each.shardBytes) : "",
            i === 0 ? size(each.gatheredBytes) : "",
            String(fromOp),
            String(toOp),
            from,
            to,
          ]),
        ),
      },
    ],
    records: () => ({
      columns: ["unit", "shardBytes", "gatheredBytes", "fromOp", "toOp", "from", "to", "isGatheredAtPeak"],
      rows: units.flatMap((each) =>
        each.spans.map(({ fromOp, toOp, from, to }) => [
          name(each),
          each.shardBytes,
          each.gatheredBytes,
          fromOp,
          toOp,
          from,
          to,
          String(each.isGatheredAtPeak),
        ]),
      ),
    }),
    value: () => ({ units }),
  };
}
