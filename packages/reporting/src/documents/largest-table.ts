import type { MemoryMoment } from "@remat/memory";
import { labelCategory } from "../category-colours.js";
import { describeMaker, describeShape } from "../describe-held.js";
import type { TablePart } from "../formats/output-document.js";
import type { SizeFormat } from "../size-unit.js";

/** Returns the largest storages alive at a moment, with the allocation site of each. */
export function largestTable({ largest, storageCount }: MemoryMoment, size: SizeFormat): TablePart {
  return {
    kind: "table",
    title: `Largest of ${storageCount} live storages`,
    headers: ["Size", "Category", "Shape", "Allocated by", "Op", "Module"],
    worth: [9, 6, 5, 7, 4, 8],
    names: ["Module"],
    rows: largest.map((storage) => [
      size(storage.bytes),
      labelCategory(storage.category),
      describeShape(storage),
      describeMaker(storage) ?? (storage.owner === undefined ? "(no op)" : "(a weight)"),
      storage.maker === undefined ? "" : String(storage.maker.op),
      storage.owner ?? storage.maker?.module ?? "",
    ]),
  };
}
