import { formatInUnit, formatTable, type MemoryUnit } from "@remat/trace/text";
import type { HeldStorage, MemoryMoment, StorageMaker } from "../index.js";
import { memTrackerLabels } from "./category-labels.js";
import { parseMemoryUnit } from "./parse-memory-unit.js";

/**
 * Formats a moment as text: the position in the run, the memory of the device by category, and a table of the largest
 * storages with the op that made each.
 *
 * @throws RematError `UNKNOWN_UNIT`
 * @example
 * console.log(displayMoment(tracker.peakMoment(), "MiB"));
 */
export function displayMoment(moment: MemoryMoment, units: MemoryUnit = "B"): string {
  const unit = parseMemoryUnit(units);
  const { labels } = memTrackerLabels;
  const lines = [
    `${moment.device} holds ${formatInUnit(moment.totalBytes, unit)} in ${moment.storageCount} storages ${placeOf(moment.at)}.`,
    ...Object.entries(moment.bytesByCategory).map(
      ([name, bytes]) => `\t${labels[name as keyof typeof labels]}: ${formatInUnit(bytes, unit)}`,
    ),
  ];
  if (moment.largest.length > 0) {
    const rows = moment.largest.map((held) => [
      formatInUnit(held.bytes, unit),
      labels[held.category],
      held.shape === undefined ? "" : `${held.dtype} [${held.shape.join(", ")}]`,
      held.maker === undefined ? "" : `${held.maker.opName} (${scratchOf(held)}op ${held.maker.op})`,
      held.maker?.module ?? "",
    ]);
    lines.push(formatTable(rows, { headers: ["Size", "Category", "Tensor", "Made by", "In module"], format: "rst" }));
  }
  return `${lines.join("\n")}\n`;
}

const scratchOf = ({ scratchPieces }: HeldStorage): string =>
  scratchPieces === undefined ? "" : `scratch${scratchPieces > 1 ? ` in ${scratchPieces} pieces` : ""} of `;

function placeOf(at: StorageMaker | undefined): string {
  if (at === undefined) return "before the first op";
  return `at op ${at.op}, ${at.opName} (${at.phase}), ${at.module === undefined ? "outside every module" : `in ${at.module}`}`;
}
