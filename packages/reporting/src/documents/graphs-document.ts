import type { OutputDocument } from "../formats/output-document.js";
import { type SizeUnit, sizeFormat } from "../size-unit.js";
import type { GraphSummary, GraphsSummary } from "../summarize-graphs.js";

const columns: readonly (keyof GraphSummary)[] = ["graph", "pass", "nodes", "givenBytes", "peakBytes", "peakNode"];

/** Returns the memory of a compiled model's graphs, one row each. The records are the same rows in bytes. */
export function graphsDocument(summary: GraphsSummary, units: SizeUnit = "auto"): OutputDocument {
  const { name, device, peakBytes, savedBytes, graphs } = summary;
  const size = sizeFormat(units);
  return {
    parts: () => [
      {
        kind: "text",
        lines: [
          `${name}: compiled, ${graphs.length} graph${graphs.length === 1 ? "" : "s"}, on ${device}`,
          `peak memory of a step ${size(peakBytes)}, before Inductor fuses and reorders ops; saved for the backward pass ${size(savedBytes)}`,
        ],
      },
      {
        kind: "table",
        headers: ["Graph", "Nodes", "Inputs", "Peak", "Peak at"],
        worth: [9, 3, 6, 8, 4],
        rows: graphs.map((one) => [
          `${one.pass} ${one.graph}`,
          String(one.nodes),
          size(one.givenBytes),
          size(one.peakBytes),
          one.peakNode ?? "the start",
        ]),
      },
    ],
    records: () => ({ columns, rows: graphs.map((one) => columns.map((column) => one[column])) }),
    value: () => summary,
  };
}
